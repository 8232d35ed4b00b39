-- What scripts of a policy live in: an environment of the names below and nothing else, and the loop that runs their functions.
--
-- What functions keep in their upvalues is put back after each message, and every table is read-only once loading is over: the
-- same message gives the same answer, whatever came before it.

local outside, guard, names = ...   -- outside: functions that never raise, and what they know; see `runtime.py`

local load, next, pcall, rawequal, select, setmetatable, tostring, type = load, next, pcall, rawequal, select, setmetatable, tostring, type
local memory, concat, remove, sort, unpack = collectgarbage, table.concat, table.remove, table.sort, table.unpack
local format, gmatch, sub = string.format, string.gmatch, string.sub
local getinfo, getupvalue, setupvalue, upvalueid, meta_of = debug.getinfo, debug.getupvalue, debug.setupvalue, debug.upvalueid, debug.getmetatable
local fail, freeze, frozen, ours, room = guard.fail, guard.freeze, guard.frozen, guard.ours, guard.room

local limits = outside.limits
local MOST_SAID <const> = 400        -- bytes of a text that leaves; it is cut to what is shown later
local NO_TEXT <const> = "ends with an error that is no text"

---------------------------------------------------------------- facts

local kinds, orders = outside.kinds, outside.orders
local order = -1                     -- of the stage whose facts are known

local function complain(what, ...) fail(outside.complain(what, ...)) end

local function given(value, fault)
    if fault then fail(fault) end
    return value
end

local function set_of(packed)        -- members, each with a NUL behind it: by number, and by name
    local holds, n = {}, 0
    for member in gmatch(packed, "([^\0]*)\0") do
        n = n + 1
        holds[n], holds[member] = member, true
    end
    return frozen({}, holds, n, true)
end

local absent, counts, findings       -- what was asked for this message: facts that are none, counts, findings

local asked = {__index = function(here, name)
    local kind = kinds[name]
    if type(name) ~= "string" then fail("a fact is named by a text, not by a " .. type(name)) end
    if not kind then complain("fact", sub(name, 1, 100)) end
    if absent[name] or orders[name] > order then return nil end
    room()
    local value = given(outside.fetch(name))
    if kind == "set" and value then value = set_of(value) end
    if value == nil then absent[name] = true else here[name] = value end
    return value
end}
local reading = {__newindex = guard.refuse}
local facts = setmetatable({}, reading)

local function fresh(stage)          -- nothing is known of the last message
    order, reading.__index = stage, setmetatable({}, asked)
    absent, counts, findings = {}, {}, {}
end

local function count(kind, window, metric, more)
    if more ~= nil or type(kind) ~= "string" or type(window) ~= "string" or type(metric) ~= "string" then complain("count", "") end
    local name = kind .. "/" .. window .. "/" .. metric
    local value = counts[name]
    if value == nil then
        value = given(outside.count(kind, window, metric, order))
        counts[name] = value
    end
    return value
end

local function found(name, more)
    if more ~= nil or type(name) ~= "string" then complain("found", "") end
    local value = findings[name]
    if value == nil then
        value = given(outside.found(name, order))
        findings[name] = value
    end
    return value
end

---------------------------------------------------------------- rules and checks

local functions, sources = {}, {}    -- by slot: what is run, and the number of its file
local loading                        -- number of the file that is being read

local function registered(kind, field)
    local called = "oborona." .. kind
    return function(t, ...)
        if not loading then fail(called .. " is called while the file is read, not later") end
        if type(t) ~= "table" or select("#", ...) > 0 then fail(called .. " takes one table: " .. called .. " { name = ... }") end
        local run, flat = guard.inside(t)[field], {}
        if type(run) ~= "function" then fail(format("%s: %s must be a function, not %s", called, field, type(run))) end
        local info = getinfo(run, "S")
        if info.what ~= "Lua" or info.source == ours then fail(format("%s: %s must be a function of the script", called, field)) end
        for key, value in next, t do
            if type(key) ~= "string" then fail(format("%s: a key is a %s", called, type(key))) end
            if key ~= field then
                if type(value) == "table" or type(value) == "function" then
                    fail(format("%s: %s is a %s", called, sub(key, 1, 60), type(value)))
                end
                flat[#flat + 1] = key
                flat[#flat + 1] = value
            end
            if #flat > limits.fields then fail(called .. ": too many keys") end
        end
        local slot = #functions + 1
        if slot > limits.functions then fail("more than " .. limits.functions .. " rules and checks in scripts") end
        functions[slot], sources[slot] = run, loading
        local at = guard.script()    -- none where this is a tail call
        room()
        outside.register(kind, loading, at and at.currentline or info.linedefined, slot, info.linedefined, info.lastlinedefined, unpack(flat))
    end
end

---------------------------------------------------------------- what scripts see

local seen = {facts = facts, count = count, found = found}
for _, name in next, {"assert", "capture", "captures", "contains", "endswith", "error", "fold", "in_domains", "in_networks", "ipairs", "matches", "math", "pairs", "select",
                      "startswith", "string", "table", "tonumber", "tostring", "type", "utf8"} do
    seen[name] = names[name]
end
for name, compares in next, names do
    if sub(name, -6) == "_small" or sub(name, -7) == "_folded" or sub(name, -8) == "_capital" then seen[name] = compares end
end
seen.oborona = names.library("oborona", {rule = registered("rule", "when"), check = registered("check", "run")})
local every = {}
for name in next, seen do every[#every + 1] = name end
sort(every)
every = concat(every, " ")
local env = frozen({}, setmetatable(seen, {__index = function(_, key) complain("name", sub(names.tostring(key), 1, 60), every) end}), 0)

meta_of("").__index = names.methods

-- none: compared, it is false, and a sum with it is none, as in expressions
local function never() return false end
local function none() return nil end
debug.setmetatable(nil, {__lt = never, __le = never, __add = none, __sub = none, __mul = none, __div = none, __mod = none,
                         __idiv = none, __unm = none, __pow = none})

---------------------------------------------------------------- what outside calls

local cells = {}                     -- upvalues of all functions, as they were when loading was over
local changed = false                -- a message was not judged to its end: they may be others now
local MOST_CHANGED <const> = 100     -- that are told

local function keep(slot, run, known) -- all that a function could keep something in: upvalues, and tables in them
    local todo = {run}
    while #todo > 0 do
        local one = remove(todo)
        if not known[one] then
            known[one] = true
            if type(one) == "table" then
                if meta_of(one) == nil then
                    for key, held in next, one do
                        if type(key) == "table" or type(key) == "function" then todo[#todo + 1] = key end
                        if type(held) == "table" or type(held) == "function" then todo[#todo + 1] = held end
                    end
                    freeze(one)
                end
            elseif getinfo(one, "S").what == "Lua" and getinfo(one, "S").source ~= ours then
                for i = 1, getinfo(one, "u").nups do
                    local name, held = getupvalue(one, i)
                    local id = upvalueid(one, i)
                    if not known[id] then
                        known[id] = true
                        cells[#cells + 1] = {run = one, number = i, held = held, slot = slot, name = name}
                    end
                    if type(held) == "function" or type(held) == "table" then todo[#todo + 1] = held end
                end
            end
        end
    end
end

local function put_back(out, n)
    local told = 0
    for i = 1, #cells do
        local cell = cells[i]
        local _, held = getupvalue(cell.run, cell.number)
        if not rawequal(held, cell.held) and (held == held or cell.held == cell.held) then
            setupvalue(cell.run, cell.number, cell.held)
            if told < MOST_CHANGED then
                out[n + 1], out[n + 2] = -cell.slot, false
                out[n + 3] = format("%d:%d: changes %s, which stands outside of it: nothing is kept from one message to the next",
                                    sources[cell.slot], getinfo(cell.run, "S").linedefined, sub(cell.name, 1, 60))
                n, told = n + 3, told + 1
            end
        end
    end
    changed = false
end

local here = {}

-- Returns what is wrong with a script, or nothing.
function here.load(number, text)
    guard.begin(limits.loading_seconds)
    guard.one(limits.loading_steps)
    fresh(-1)
    local chunk, fault = load(text, "=" .. number, "t", env)
    if not chunk then return fault end
    loading = number
    local ok, problem = pcall(chunk)
    loading = nil
    if not ok then return type(problem) == "string" and sub(problem, 1, MOST_SAID) or NO_TEXT end
end

-- Ends loading; returns how much memory it filled, in KiB.
function here.seal()
    guard.trusted()
    local known = {}
    for slot, run in next, functions do keep(slot, run, known) end
    memory("collect")
    return memory("count")
end

-- Runs the functions of some slots.  Returns three values for each that says something: its slot, a share or false, words or false;
-- for each that fails its slot with a minus, false, and the error.
function here.run(slots, stage)
    local out, n = {}, 0
    if changed then
        guard.trusted()
        put_back({}, 0)
    end
    changed = true
    fresh(stage)
    guard.begin(limits.all_seconds)
    for i = 1, #slots do
        local slot = slots[i]
        guard.one(limits.steps)
        local ok, said, more = pcall(functions[slot])
        local kind = type(said)
        if not ok then
            out[n + 1], out[n + 2], out[n + 3] = -slot, false, kind == "string" and sub(said, 1, MOST_SAID) or NO_TEXT
            n = n + 3
        elseif kind == "table" or kind == "function" then
            out[n + 1], out[n + 2], out[n + 3] = -slot, false, "gives a " .. kind
            n = n + 3
        elseif said then
            if type(more) == "number" then more = tostring(more) end
            if kind == "string" then more = said end
            out[n + 1] = slot
            out[n + 2] = kind == "number" and said + 0.0 or kind == "boolean" and 1.0 or false
            out[n + 3] = type(more) == "string" and sub(more, 1, MOST_SAID) or false
            n = n + 3
        end
    end
    guard.trusted()
    put_back(out, n)
    reading.__index = nil
    return unpack(out, 1, #out)
end

return here
