# Oborona: files what it found suspicious into the spam folder.
#
#   X-Mras: Ok                   inbox
#   X-Mras: Probable, or Spam    spam folder (Spam: refused, where refusing is switched off)
#   X-Spam-Flag: YES             spam folder; Oborona sets it too, and other filters behind it may
#   none of them                 inbox: local mail, or Oborona was down and the mail server let mail pass
#
# Run it before the users' own scripts (sieve_before): these do not see what was filed here, so that no
# vacation script answers spam. What Oborona lets pass carries only headers of its own: it removes those
# that come in.

require ["fileinto", "mailbox"];

if anyof (header :is "X-Mras" ["Probable", "Spam"],
          allof (exists "X-Mras", not header :is "X-Mras" "Ok"),
          header :is "X-Spam-Flag" "YES")
{
    fileinto :create "Junk"; # the name of the mailbox with special_use = \Junk
    stop;
}
