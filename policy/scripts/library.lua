-- The functions that scripts have: of the standard library what is bounded and gives the same in every process, and tests on texts.
--
-- What works in C is seen by no hook, so it is left out or pays for its size (`spend`).  Patterns are RE2's, and matched outside:
-- Lua's own may need any power of a text's length.  No function tells an address, a time or a random number, and `pairs` has one order.

local outside, guard = ...

local assert, error, ipairs, next, select, setmetatable, tonumber, tostring, type =
      assert, error, ipairs, next, select, setmetatable, tonumber, tostring, type
local meta_of = debug.getmetatable
local concat, insert, remove, sort, unpack = table.concat, table.insert, table.remove, table.sort, table.unpack
local bytes, find, format, gmatch, gsub, rep, sub = string.byte, string.find, string.format, string.gmatch, string.gsub, string.rep, string.sub
local fail, frozen, inside, room, spend = guard.fail, guard.frozen, guard.inside, guard.room, guard.spend

local MOST_TEXT <const> = 1 << 20    -- bytes that string.rep and string.format may make
local MOST_SORTED <const> = 10000    -- members that table.sort and pairs put into order
local MOST_UNPACKED <const> = 200    -- values of table.unpack and string.byte
local MOST_GROUPS <const> = 20       -- of capture()
local MOST_CAPTURES <const> = 1000   -- of captures()

local names = {}

function names.library(name, functions)   -- a typing error is an error
    return frozen({}, setmetatable(functions, {__index = function(_, key)
        fail(format("unknown name %s.%s", name, type(key) == "string" and sub(key, 1, 60) or type(key)))
    end}), 0)
end

---------------------------------------------------------------- tests on texts, and on any member of a set

local function texts(one, other)
    return type(one) == "string" and type(other) == "string"
end

local function test_of(name, test)
    return function(value, piece)
        if type(piece) ~= "string" then fail(name .. " takes a text as its second argument, not " .. type(piece)) end
        if value == nil then return false end
        if type(value) == "string" then return test(value, piece) end
        if type(value) ~= "table" then fail(name .. " takes a text or a set, not " .. type(value)) end
        local members = inside(value)
        spend(#value)
        for i = 1, #value do
            if type(members[i]) ~= "string" then fail(name .. ": the list holds " .. type(members[i])) end
            if test(members[i], piece) then return true end
        end
        return false
    end
end

local function search(text, piece, from)  -- pays for the slowest that there can be
    spend(#text * #piece // 1000)
    return find(text, piece, from, true)
end

local function outward(text)              -- pays for RE2 and the way there
    room()
    spend(#text // 10 + 100)
end

local function captured(name, text, pattern, most)
    if text == nil then return {} end
    if not texts(text, pattern) then fail(name .. " takes a text and a pattern") end
    outward(text)
    local packed, fault = outside.captures(text, pattern, most)
    if fault then fail(fault) end
    local all = {}
    for one in gmatch(packed, "([^\0]*)\0") do all[#all + 1] = one end
    return all
end

local function matched(text, pattern)
    outward(text)
    local value, fault = outside.matches(text, pattern)
    if fault then fail(fault) end
    return value
end

names.contains = test_of("contains", function(text, piece) return search(text, piece) ~= nil end)
names.startswith = test_of("startswith", function(text, piece) return sub(text, 1, #piece) == piece end)
names.endswith = test_of("endswith", function(text, piece) return piece == "" or sub(text, -#piece) == piece end)
names.matches = test_of("matches", matched)

local function turned(form, name, piece)   -- a text of a rule in the form of the fact that it is compared with
    if type(piece) ~= "string" then return piece end
    outward(piece)
    local value, fault = outside.turned(form, name, piece)
    if fault then fail(fault) end
    return value
end

-- `matches(facts.subject, x)` is read as `matches_folded(facts.subject, x)`: see source.py
for _, name in ipairs {"contains", "startswith", "endswith", "matches"} do
    local test = names[name]
    for _, form in ipairs {"capital", "small", "folded"} do
        names[name .. "_" .. form] = function(value, piece) return test(value, turned(form, name, piece)) end
    end
end

function names.fold(text)
    if text == nil then return nil end
    if type(text) ~= "string" then fail("fold takes a text, not " .. type(text)) end
    return turned("folded", "fold", text)
end

local function within(name)                -- the second argument is a text, or a list of them
    local test = test_of(name, function(text, listed)
        outward(text)
        local value, fault = outside.within(name, text, listed)
        if fault then fail(fault) end
        return value
    end)
    return function(value, listed)
        if type(listed) ~= "table" then return test(value, listed) end
        local texts, all = inside(listed), {}
        spend(#listed * 10)
        for i = 1, #listed do
            if type(texts[i]) ~= "string" then fail(name .. ": the list holds " .. type(texts[i])) end
            all[i] = texts[i]
        end
        return test(value, concat(all, " "))
    end
end

names.in_networks = within("in_networks")
names.in_domains = within("in_domains")

function names.capture(text, pattern)
    local groups = captured("capture", text, pattern, 1)
    return unpack(groups, 1, #groups < MOST_GROUPS and #groups or MOST_GROUPS)
end

function names.captures(text, pattern)
    return captured("captures", text, pattern, MOST_CAPTURES)
end

---------------------------------------------------------------- the standard library

names.ipairs, names.select, names.tonumber, names.type = ipairs, select, tonumber, type
names.assert, names.error = assert, error

function names.tostring(value)    -- no addresses: they differ from run to run
    local kind = type(value)
    if kind == "table" or kind == "function" then return kind end
    return tostring(value)
end

local function step(state)
    local i = state.i + 1
    state.i = i
    local key = state.keys[i]
    if key == nil then return nil end
    return key, state.holds[key]
end

local function before(a, b)       -- numbers, then texts
    local x, y = type(a), type(b)
    if x == y then return a < b end
    return x == "number"
end

function names.pairs(t)           -- of a set as ipairs; in one order, whatever the seed of hashes
    if type(t) ~= "table" then fail("pairs takes a table, not " .. type(t)) end
    local meta, all, keys, n = meta_of(t), inside(t), {}, 0
    local set = meta and meta.set
    for key in next, all do
        if type(key) ~= "number" and type(key) ~= "string" then fail("pairs: a key is a " .. type(key)) end
        if not set or type(key) == "number" then
            n = n + 1
            if n > MOST_SORTED then fail("pairs: more than " .. MOST_SORTED .. " members") end
            keys[n] = key
        end
    end
    spend(n * 10)
    sort(keys, before)
    return step, {keys = keys, holds = all, i = 0}
end

local function few(name, first, last)
    if not first or not last or last - first >= MOST_UNPACKED then fail(name .. ": more than " .. MOST_UNPACKED .. " values") end
end

local list = {concat = concat, insert = insert, remove = remove}

function list.sort(t, less)
    if type(t) ~= "table" then fail("table.sort takes a table, not " .. type(t)) end
    if #t > MOST_SORTED then fail("table.sort: more than " .. MOST_SORTED .. " members") end
    spend(#t * 10)
    return sort(t, less)
end

function list.unpack(t, first, last)
    if type(t) ~= "table" then fail("table.unpack takes a table, not " .. type(t)) end
    first, last = tonumber(first or 1), tonumber(last or #t)
    few("table.unpack", first, last)
    return unpack(t, first, last)
end

local text = {char = string.char, len = string.len, sub = sub}

for _, name in next, {"lower", "upper", "reverse"} do
    local change = string[name]
    text[name] = function(value)
        if type(value) == "string" then spend(#value // 100) end
        return change(value)
    end
end

function text.rep(value, n, between)
    local one, times = #tostring(value) + #tostring(between or ""), tonumber(n)
    if not times or times > MOST_TEXT or one * times > MOST_TEXT then fail("string.rep: more than " .. MOST_TEXT .. " bytes") end
    spend(times > 0 and one * times // 100 or 0)
    return rep(value, n, between)
end

function text.format(pattern, ...)
    if type(pattern) ~= "string" or #pattern > 1000 then fail("string.format takes a text of at most 1000 bytes") end
    if find(gsub(pattern, "%%%%", ""), "%%[^%a%%]*p") then fail("string.format: %p is not part of the language") end
    local size = 0
    for i = 1, select("#", ...) do
        local value = select(i, ...)
        if type(value) == "table" or type(value) == "function" then fail("string.format: argument " .. i .. " is a " .. type(value)) end
        size = size + (type(value) == "string" and #value or 0)
    end
    if size > MOST_TEXT then fail("string.format: more than " .. MOST_TEXT .. " bytes") end
    spend(size // 100)
    return format(pattern, ...)
end

function text.find(value, piece, from, plain)
    if type(value) == "number" then value = tostring(value) end
    if not texts(value, piece) then fail("string.find takes two texts") end
    if not plain and find(piece, "[%^%$%(%)%%%.%[%]%*%+%-%?]") then
        fail("string.find finds plain text: give true as its fourth argument, or use matches() or capture()")
    end
    return search(value, piece, from)
end

function text.byte(value, first, last)
    local size = #tostring(value)
    first = tonumber(first or 1)
    last = tonumber(last or first)
    if not first or not last then fail("string.byte takes whole numbers") end
    few("string.byte", first < 0 and size + first + 1 or first, last < 0 and size + last + 1 or last)
    return bytes(value, first, last)
end

for _, name in next, {"match", "gmatch", "gsub"} do
    text[name] = function() fail("string." .. name .. " is not part of the language: use matches(), capture() or captures()") end
end

local numbers = {}
for _, name in next, {"abs", "ceil", "exp", "floor", "fmod", "huge", "log", "max", "maxinteger", "min", "mininteger", "modf", "pi",
                      "sqrt", "tointeger", "type", "ult"} do
    numbers[name] = math[name]
end

names.methods = setmetatable({}, {__index = function(_, key)   -- ("x"):upper()
    fail("a text has no " .. (type(key) == "string" and sub(key, 1, 60) or type(key)))
end})
for name, method in next, text do names.methods[name] = method end
names.math, names.string, names.table = names.library("math", numbers), names.library("string", text), names.library("table", list)
names.utf8 = names.library("utf8", {char = utf8.char, codes = utf8.codes, len = utf8.len})
return names
