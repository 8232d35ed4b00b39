-- Records of Akvorado's table flows (docs/operate/flows.md). It keeps no times of a stream and no flags of TCP, so
-- that streams at once are not told. Where routers export on both of their sides, add: AND InIfBoundary = 'internal'
SELECT
    toInt64(toUnixTimestamp(TimeReceived)) * 1000 AS received,
    0 AS begin,
    0 AS end,
    toString(SrcAddr) AS source,
    toString(DstAddr) AS destination,
    SrcPort AS source_port,
    DstPort AS destination_port,
    Proto AS protocol,
    Packets AS packets,
    Bytes AS octets,
    0 AS flags,
    toString(ExporterAddress) AS exporter,
    SamplingRate AS sampling
FROM flows
WHERE TimeReceived >= toDateTime({start:UInt32}) AND TimeReceived < toDateTime({end:UInt32})
    AND Proto = 6 AND DstPort IN (25, 465, 587, 2525)
