-- Records of goflow2's table flows_raw, as its compose/kcg/clickhouse/create.sh makes it (docs/operate/flows.md).
-- An IPv4 address is the first four octets of sixteen. It keeps no end of a stream and no flags of TCP: where your
-- table does, put them in place of the zeros (times in Unix milliseconds).
SELECT
    toUnixTimestamp64Milli(time_received_ns) AS received,
    toUnixTimestamp64Milli(time_flow_start_ns) AS begin,
    0 AS end,
    if(etype = 0x0800, IPv4NumToString(reinterpretAsUInt32(reverse(substring(src_addr, 1, 4)))), IPv6NumToString(src_addr)) AS source,
    if(etype = 0x0800, IPv4NumToString(reinterpretAsUInt32(reverse(substring(dst_addr, 1, 4)))), IPv6NumToString(dst_addr)) AS destination,
    src_port AS source_port,
    dst_port AS destination_port,
    proto AS protocol,
    packets,
    bytes AS octets,
    0 AS flags,
    if(substring(sampler_address, 5) = unhex('000000000000000000000000'),
        IPv4NumToString(reinterpretAsUInt32(reverse(substring(sampler_address, 1, 4)))), IPv6NumToString(sampler_address)) AS exporter,
    sampling_rate AS sampling
FROM flows_raw
WHERE time_received_ns >= toDateTime({start:UInt32}) AND time_received_ns < toDateTime({end:UInt32})
    AND proto = 6 AND dst_port IN (25, 465, 587, 2525)
