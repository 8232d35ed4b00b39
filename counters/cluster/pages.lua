#!lua name=oborona_counters_3
-- Steps of an outbox into the pages of one tag: each wholly, once, and in order.
--
--   FCALL oborona_add_3 <keys> {word}a page... <body> <order>
--
--   order   the step that must have been the last one of this outbox here, and this one: two u64
--   body    id of the outbox, 8 bytes; current bucket i32; flags u8: 1 if what is out of the windows may be dropped, 2 if
--           what is seen once gets a slot at the door; parts, u16
--   part    forgets, adds, pairs: three u32; then
--             forget   page u16, field 8 bytes
--             add      page u16, field 8 bytes, cells u16, 8 bytes each
--             pair     P and U as places among the adds of this part, from 1: two u32; bucket of the first sight, i32
--
-- Returns the last step of this outbox that is applied here: this one or a later one, or, when nothing was done because a
-- step between is missing, one before it. Everything is read and worked out before anything is written, so that an error
-- leaves nothing behind. All numbers are little-endian. What cells mean: counters/record.py; this does the same. What the
-- door is: counters/cluster/doorkeeper_page.py.

local RING, BUCKETS_A_DAY = 131072, 144
local FINE_BUCKETS, DAYS_KEPT, FUTURE_BUCKETS = 150, 15, 144
local TIDY_BYTES = 128
local PAGE_S = 17 * 86400       -- a page that nobody touches has nothing in any window by then
local SWEEP_BUCKETS = 36        -- a page is gone through each six hours, if it is touched
local OUTBOX_BUCKETS = 30 * 144 -- an outbox that was silent for so long has nothing to say that is still in a window
local CHUNK = 1000              -- arguments to one command; Lua takes below 8000
local HALF = 2097152            -- 2^21: three digits of seven bits
local TOP_BITS = 0x102040       -- the highest bit of each of three digits
local LEVELS, METRICS = 9, 6
local TAKEN_LEVELS = 7          -- of what is taken back, behind the others
local DOOR_BYTES = 4 * 128      -- slots at the door of a page
local DOOR_RING = 65536

-- The libraries of Lua are not there yet while functions are loaded.
local function floor(number)
    return number - number % 1
end

local function day_of(bucket)
    return floor(bucket / BUCKETS_A_DAY)
end

-- The bucket nearest to `reference` that has this place on the ring.
local function absolute(place, reference)
    return reference - ((reference - place + RING / 2) % RING - RING / 2)
end

-- Whether a bucket may still be in a window at `reference`.
local function lives(bucket, reference)
    return day_of(bucket) > day_of(reference) - DAYS_KEPT and bucket <= reference + FUTURE_BUCKETS
end

local function carries(one, other, sum)
    return bit.band(bit.bor(bit.band(one, other), bit.band(bit.bor(one, other), bit.bnot(sum))), TOP_BITS) ~= 0
end

-- The record with one more cell: summed into the last one if they match and no digit carries, else appended.
local function add(record, cell)
    local size = #record
    if size == 0 then
        return cell
    end
    local low, high = struct.unpack('<I4I4', record, size - 7)
    local more_low, more_high = struct.unpack('<I4I4', cell)
    if floor(high / 1024) ~= floor(more_high / 1024) then
        return record .. cell
    end
    local a, b = low % HALF, more_low % HALF
    local c = floor(low / HALF) + high % 1024 * 2048
    local d = floor(more_low / HALF) + more_high % 1024 * 2048
    if carries(a, b, a + b) or carries(c, d, c + d) then
        return record .. cell
    end
    local sum = c + d
    return record:sub(1, size - 8)
        .. struct.pack('<I4I4', a + b + sum % 2048 * HALF, floor(high / 1024) * 1024 + floor(sum / 2048))
end

-- Whether a cell of a record takes back.
local function takes(record, at)
    return floor(record:byte(at + 5) / 4) % 16 >= LEVELS
end

-- Bring the digits of one metric's sum to 0..127 each; returns what is left over, below zero if the sum is.
local function carry(sums, metric)
    local over = 0
    for level = 0, LEVELS - 1 do
        local digit = sums[level * METRICS + metric] + over
        over = floor(digit / 128)
        sums[level * METRICS + metric] = digit % 128
    end
    return over
end

-- Subtract what is taken back of one metric; what there is too little of stays taken back.
local function subtract(sums, metric)
    for level = 0, TAKEN_LEVELS - 1 do
        local taken = (LEVELS + level) * METRICS + metric
        sums[level * METRICS + metric] = sums[level * METRICS + metric] - sums[taken]
        sums[taken] = 0
    end
    local over = carry(sums, metric)
    if over >= 0 then
        return over
    end
    for level = 0, LEVELS - 1 do
        sums[level * METRICS + metric] = -sums[level * METRICS + metric]
    end
    local most = carry(sums, metric) - over > 0
    for level = TAKEN_LEVELS, LEVELS - 1 do
        most = most or sums[level * METRICS + metric] > 0
    end
    for level = 0, LEVELS - 1 do
        if level < TAKEN_LEVELS then
            sums[(LEVELS + level) * METRICS + metric] = most and 127 or sums[level * METRICS + metric]
        end
        sums[level * METRICS + metric] = 0
    end
    return 0
end

-- Cells of one place from sums of digits, [level * METRICS + metric], heaviest first, those that take back behind.
local function cells(head, sums)
    for metric = 0, METRICS - 1 do
        local over = sums.takes and subtract(sums, metric) or carry(sums, metric)
        if over > 0 then -- beyond 2^63-1, where it stays
            for level = 0, LEVELS - 1 do
                sums[level * METRICS + metric] = 127
            end
        end
    end
    local found = {}
    local levels = sums.takes and LEVELS + TAKEN_LEVELS or LEVELS
    for place = 1, levels do
        local level = place <= LEVELS and LEVELS - place or LEVELS + levels - place
        local at = level * METRICS
        local first = sums[at] + sums[at + 1] * 128 + sums[at + 2] * 16384
        local second = sums[at + 3] + sums[at + 4] * 128 + sums[at + 5] * 16384
        if first > 0 or second > 0 then
            found[#found + 1] = struct.pack(
                '<I4I4', first + second % 2048 * HALF, head * 16384 + level * 1024 + floor(second / 2048)
            )
        end
    end
    return table.concat(found)
end

-- The record at its smallest: days first, then ten-minute buckets, oldest first. Without a reference, when the clock is
-- not believed, equal places are summed and nothing is folded or dropped.
local function tidy(record, reference)
    local places, order = {}, {}
    for at = 1, #record, 8 do
        local low, high = struct.unpack('<I4I4', record, at)
        local head = floor(high / 16384) -- bucket and day bit
        local rank, kept = #order, true
        if reference then
            local bucket = absolute(floor(head / 2), reference)
            local day = day_of(bucket)
            kept = lives(bucket, reference)
            if head % 2 == 1 or bucket <= reference - FINE_BUCKETS then
                bucket = day * BUCKETS_A_DAY
                head = bucket % RING * 2 + 1
                rank = bucket - RING * 8 -- before all that are not days
            else
                rank = bucket
            end
        end
        if kept then
            local place = places[head]
            if not place then
                place = { head = head, rank = rank }
                for digit = 0, LEVELS * METRICS - 1 do
                    place[digit] = 0
                end
                places[head] = place
                order[#order + 1] = place
            end
            local level = floor(high / 1024) % 16
            if level >= LEVELS and not place.takes then
                place.takes = true
                for digit = LEVELS * METRICS, (LEVELS + TAKEN_LEVELS) * METRICS - 1 do
                    place[digit] = 0
                end
            end
            local first = low % HALF
            local second = floor(low / HALF) + high % 1024 * 2048
            local base = level * METRICS
            for metric = 0, 2 do
                place[base + metric] = place[base + metric] + first % 128
                place[base + metric + 3] = place[base + metric + 3] + second % 128
                first, second = floor(first / 128), floor(second / 128)
            end
        end
    end
    table.sort(order, function(one, other) return one.rank < other.rank end)
    for at, place in ipairs(order) do
        order[at] = cells(place.head, place)
    end
    return table.concat(order)
end

local function merge(record, delta, reference)
    local merged, taken = record, false
    for at = 1, #delta, 8 do
        merged = add(merged, delta:sub(at, at + 7))
        taken = taken or takes(delta, at)
    end
    if taken or floor(#merged / TIDY_BYTES) ~= floor(#record / TIDY_BYTES) then
        return tidy(merged, reference)
    end
    return merged
end

-- Whether the record counts anything seen in that day; what decides a unique pair.
local function seen_in_day(record, day)
    local reference = day * BUCKETS_A_DAY
    for at = 1, #record, 8 do
        local low, high = struct.unpack('<I4I4', record, at)
        if low % 128 > 0 and not takes(record, at) and day_of(absolute(floor(high / 32768), reference)) == day then
            return true
        end
    end
    return false
end

-- The bucket of a slot, near `reference`.
local function bucket_at(door, at, reference)
    local place = struct.unpack('<I2', door, at + 2)
    return reference - ((reference - place + DOOR_RING / 2) % DOOR_RING - DOOR_RING / 2)
end

-- Where a field's slot is at a door, nil if it has none; and its print.
local function find(door, field)
    local head, low = struct.unpack('>I2xxxxI2', field)
    local print = struct.pack('<I2', (head + low) % DOOR_RING)
    local at = door:find(print, 1, true)
    while at and at % 4 ~= 1 do
        at = door:find(print, at + 1, true)
    end
    return at, print
end

-- A field without a record gains something: its sighting at the door becomes a record; a first one gets a slot.
-- Returns the record, nil when a slot will do.
local function at_the_door(page, field, delta, now, admits)
    local at, print = find(page.door, field)
    if at then
        local bucket = bucket_at(page.door, at, now)
        page.door = page.door:sub(1, at - 1) .. page.door:sub(at + 4)
        return struct.pack('<I4I4', 1, bucket % RING * 32768)
    end
    if admits and #delta == 8 then
        local low, high = struct.unpack('<I4I4', delta)
        local bucket = absolute(floor(high / 32768), now)
        if low == 1 and high % 32768 == 0 and lives(bucket, now) then
            page.door = (page.door .. print .. struct.pack('<I2', bucket % DOOR_RING)):sub(-DOOR_BYTES)
            return nil
        end
    end
    return ''
end

-- The parts of a body, and for each page the fields they name.
local function parse(body, at, count, pages)
    local parts = {}
    local function name(page, field)
        pages[page].fields[field] = true
    end
    for number = 1, count do
        local part = { forgets = {}, adds = {}, pairs = {} }
        local forgets, adds, pairs
        forgets, adds, pairs, at = struct.unpack('<I4I4I4', body, at)
        for place = 1, forgets do
            local page, field
            page, field, at = struct.unpack('<I2c8', body, at)
            name(page, field)
            part.forgets[place] = { page, field }
        end
        for place = 1, adds do
            local page, field, size
            page, field, size, at = struct.unpack('<I2c8I2', body, at)
            name(page, field)
            part.adds[place] = { page, field, body:sub(at, at + size * 8 - 1) }
            at = at + size * 8
        end
        for place = 1, pairs do
            local both, distinct, bucket
            both, distinct, bucket, at = struct.unpack('<I4I4i4', body, at)
            part.pairs[place] = { both, distinct, bucket }
        end
        parts[number] = part
    end
    return parts
end

-- What the pages store of the fields that are named: page.records, page.swept and page.door.
local function read(page)
    local names = { 'p', 'd' }
    for field in pairs(page.fields) do
        names[#names + 1] = field
    end
    page.records, page.changed = {}, {}
    for from = 1, #names, CHUNK do
        local upto = math.min(from + CHUNK - 1, #names)
        local values = redis.call('HMGET', page.key, unpack(names, from, upto))
        for at = from, upto do
            page.records[names[at]] = values[at - from + 1] or ''
        end
    end
    page.swept, page.records.p = page.records.p, nil
    page.door, page.records.d = page.records.d, nil
    page.stored_door = page.door
end

local function apply(part, pages, reference, now, admits)
    for _, one in ipairs(part.forgets) do
        local page, field = pages[one[1]], one[2]
        local at = page.records[field] == '' and find(page.door, field)
        if at then
            page.door = page.door:sub(1, at - 1) .. page.door:sub(at + 4)
        end
        page.records[field], page.changed[field] = '', true
    end
    local decided = {}
    for _, one in ipairs(part.pairs) do
        local both, distinct, bucket = one[1], one[2], one[3]
        local day = day_of(bucket)
        local sight = both .. ' ' .. day
        local pair = part.adds[both]
        pair.is_half = true -- a record or nothing, so that pairs stay exact
        if not decided[sight] then
            decided[sight] = true
            if not seen_in_day(pages[pair[1]].records[pair[2]], day) then
                local gains = part.adds[distinct]
                gains[4] = add(gains[4] or '', struct.pack('<I4I4', 1, bucket % RING * 32768))
            end
        end
    end
    for _, one in ipairs(part.adds) do
        local page, field, delta = pages[one[1]], one[2], one[3] .. (one[4] or '')
        if #delta > 0 then
            local record = page.records[field]
            if record == '' and not one.is_half then
                record = at_the_door(page, field, delta, now, admits)
            end
            if record then
                page.records[field] = merge(record, delta, reference)
                page.changed[field] = true
            end
        end
    end
end

-- The slots that may still be in a window.
local function tidy_door(door, reference)
    local kept = {}
    for at = 1, #door, 4 do
        if lives(bucket_at(door, at, reference), reference) then
            kept[#kept + 1] = door:sub(at, at + 3)
        end
    end
    return table.concat(kept)
end

-- Whether a record is one cell that `tidy` would leave as it is; most are.
local function is_tidy(record, reference)
    if #record ~= 8 then
        return false
    end
    local _, high = struct.unpack('<I4I4', record)
    local bucket = absolute(floor(high / 32768), reference)
    if not lives(bucket, reference) then
        return false
    end
    if floor(high / 16384) % 2 == 1 then
        return bucket % BUCKETS_A_DAY == 0
    end
    return bucket > reference - FINE_BUCKETS
end

-- Go through a whole page: what is out of the windows, and what outboxes left that are no more.
local function sweep(page, reference, outboxes)
    local stored = redis.call('HGETALL', page.key)
    for at = 1, #stored, 2 do
        local field, record = stored[at], stored[at + 1]
        if #field == 8 then
            local kept = page.records[field] or record
            if not is_tidy(kept, reference) then
                local tidied = tidy(kept, reference)
                if tidied ~= kept then
                    page.records[field], page.changed[field] = tidied, true
                end
            end
        elseif #field == 9 and not outboxes[field:sub(2)] then
            page.records[field], page.changed[field] = '', true
        end
    end
    page.door = tidy_door(page.door, reference)
end

-- Outboxes of this tag: id → true, and which of them are no more.
local function known_outboxes(applied, reference, own)
    local known, gone = { [own] = true }, {}
    local stored = redis.call('HGETALL', applied)
    for at = 1, #stored, 2 do
        local bucket = tonumber(stored[at + 1]:match(' (%-?%d+)$'))
        if stored[at] == own or reference - bucket < OUTBOX_BUCKETS then
            known[stored[at]] = true
        else
            gone[#gone + 1] = stored[at]
        end
    end
    return known, gone
end

local function write(page)
    local set, gone = {}, {}
    if page.door ~= page.stored_door then
        page.records.d, page.changed.d = page.door, true
    end
    for field in pairs(page.changed) do
        local value = page.records[field]
        if #value > 0 then
            set[#set + 1] = field
            set[#set + 1] = value
        else
            gone[#gone + 1] = field
        end
    end
    for from = 1, #set, CHUNK do
        redis.call('HSET', page.key, unpack(set, from, math.min(from + CHUNK - 1, #set)))
    end
    for from = 1, #gone, CHUNK do
        redis.call('HDEL', page.key, unpack(gone, from, math.min(from + CHUNK - 1, #gone)))
    end
    if page.keep then
        redis.call('EXPIRE', page.key, PAGE_S)
    end
end

local function oborona_add(keys, args)
    local body = args[1]
    local before, step = struct.unpack('<I8I8', args[2])
    local id, bucket, flags, count, at = struct.unpack('<c8i4BI2', body)
    local applied = keys[1]
    local stored = redis.call('HGET', applied, id)
    local have = stored and tonumber(stored:match('^%d+')) or 0
    if have >= step or have ~= before then
        return have
    end
    local pages = {}
    for place = 2, #keys do
        pages[place - 1] = { key = keys[place], fields = {} }
    end
    local parts = parse(body, at, count, pages)
    for _, page in ipairs(pages) do
        read(page)
    end
    local reference = flags % 2 == 1 and bucket or nil
    for _, part in ipairs(parts) do
        apply(part, pages, reference, bucket, flags >= 2)
    end
    local known, gone
    for _, page in ipairs(pages) do
        page.keep = page.swept == ''
        if reference and (page.keep or math.abs(reference - tonumber(page.swept)) >= SWEEP_BUCKETS) then
            if not page.keep then
                if not known then
                    known, gone = known_outboxes(applied, reference, id)
                end
                sweep(page, reference, known)
            end
            page.keep = true
            page.records.p, page.changed.p = tostring(reference), true
        end
        page.records['a' .. id], page.changed['a' .. id] = string.format('%d', step), true
    end
    for _, page in ipairs(pages) do
        write(page)
    end
    if gone and #gone > 0 then
        redis.call('HDEL', applied, unpack(gone))
    end
    redis.call('HSET', applied, id, string.format('%d %d', step, bucket))
    return step
end

redis.register_function('oborona_add_3', oborona_add)
