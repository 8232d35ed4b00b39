"""Rules and checks that need a program: `policy.d/*.lua`, in Lua 5.4 by lupa (docs/policy/lua.md,
docs/adr/0016).

    oborona.rule {
        name = "MANY_HOSTS", score = 20, say = "links to many hosts",
        when = function() return #facts.links.hosts > 20, #facts.links.hosts end,
    }

`source` reads a script's text, `loading` runs it once and takes what it registers, `scripts` runs
that for each message; `runtime` is the machine for both, `answers` what it is told of a message.
Only `runtime` imports lupa, and is imported where a script holds more than comments.
"""
