-- The limits that scripts are held to, and tables that are read-only.
--
-- Limits are looked at every STRIDE steps of the machine: steps and processor time of one function, of all functions for one message,
-- and memory.  Scripts have no pcall, no coroutine and no metatables: nothing they write can catch the error of a limit, leave the
-- hook, or run where no hook is called (finalizers).  The allocator's own limit lies above: what comes from outside always finds room.

local outside = ...

local error, next, setmetatable = error, next, setmetatable
local clock, memory, format = os.clock, collectgarbage, string.format
local getinfo, sethook, meta_of = debug.getinfo, debug.sethook, debug.getmetatable

local limits = outside.limits
local STRIDE <const> = limits.stride
local guard = {ours = getinfo(1, "S").source}
local ours = guard.ours

---------------------------------------------------------------- limits

local left, until_one, until_all = limits.loading_steps, 0, clock() + limits.loading_seconds
local roof = limits.memory_kb

function guard.script()           -- that is running, with its line; nothing where we are among ourselves
    for level = 2, 100 do
        local info = getinfo(level, "Sl")
        if not info then return nil end
        if info.what ~= "C" and info.source ~= ours then return info end
    end
end

local function fail(problem)
    local at = guard.script()
    error(at and format("%s:%d: %s", at.short_src, at.currentline, problem) or problem, 0)
end

local function stop(problem)      -- between two functions there is nothing to stop, and nothing that would catch the error
    if guard.script() then fail(problem) end
end

local function crowded()
    if memory("count") <= roof then return false end
    memory("collect")
    return memory("count") > roof
end

local function look()
    left = left - STRIDE
    if left < 0 then stop("takes too many steps") end
    local now = clock()
    if until_one == 0 then
        until_one = now + limits.seconds
    elseif now > until_one then
        stop("takes too long")
    end
    if now > until_all then stop("takes too long: the time of all scripts for one message is over") end
    if crowded() then stop("takes too much memory") end
end

function guard.spend(steps)       -- for work in C, which no hook sees, by its size
    left = left - steps
    if left < 0 then fail("takes too many steps") end
end

function guard.room()             -- before a value comes from outside
    if crowded() then fail("takes too much memory") end
end

function guard.begin(seconds)     -- functions of one message, or loading, which ends with them
    until_all = clock() + seconds
end

function guard.one(steps)         -- the next function; most end before a clock is looked at
    left, until_one = steps, 0
end

function guard.trusted()          -- work of ours, which other limits bound
    left, until_one, until_all = 1 << 53, math.huge, math.huge
end

---------------------------------------------------------------- tables that are read-only

local function refuse() fail("is read-only: nothing is kept from one message to the next") end

function guard.frozen(empty, holds, length, set)
    return setmetatable(empty, {
        holds = holds,
        set = set,                -- its members stand in it by number, and by name
        __index = holds,
        __newindex = refuse,
        __len = function() return length end,
    })
end

function guard.freeze(t)          -- in place: whoever has it sees it read-only
    local holds, length = {}, #t
    for key, value in next, t do holds[key] = value end
    for key in next, holds do t[key] = nil end
    return guard.frozen(t, holds, length)
end

function guard.inside(t)          -- what a table holds, read-only or not
    local meta = meta_of(t)
    return meta and meta.holds or t
end

guard.fail, guard.refuse = fail, refuse
sethook(look, "", STRIDE)
return guard
