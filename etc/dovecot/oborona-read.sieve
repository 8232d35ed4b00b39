# Oborona: a person opened a message, or threw it away without opening it. Weak signs, and many: only of messages
# that Oborona has seen, without the message, and never said twice.
#
#   \Seen is set                      read
#   \Deleted is set, \Seen was not    deleted unread; so is a move from the inbox to the trash without \Seen
#
# Not in the spam folder and the trash: what becomes of mail there says nothing of it.

require ["vnd.dovecot.execute", "vnd.dovecot.environment", "environment", "variables", "imapsieve",
         "imap4flags", "special-use"];

if header :matches "X-Mras-Id" "?*" {
  set "id" "${0}";
  if environment :matches "imap.mailbox" "*" {
    set "mailbox" "${1}";
  }
  if environment :is "imap.cause" "FLAG" {
    if not anyof (string "${mailbox}" ["Junk", "Trash"], specialuse_exists "${mailbox}" "\\Trash",
                  specialuse_exists "${mailbox}" "\\Junk") {
      if environment :contains "imap.changedflags" "\\Deleted" {
        if allof (hasflag "\\Deleted",
                  anyof (not hasflag "\\Seen", environment :contains "imap.changedflags" "\\Seen")) {
          set "what" "deleted";
        }
      } elsif environment :contains "imap.changedflags" "\\Seen" {
        if hasflag "\\Seen" {
          set "what" "read";
        }
      }
    }
  } elsif not hasflag "\\Seen" {
    set "what" "deleted";
  }
  if not anyof (string "${what}" "", hasflag "OboronaMoving",
                environment :matches "vnd.dovecot.config.master" "?*") {
    if environment :matches "imap.user" "*" {
      set "user" "${1}";
    }
    if not execute :input "" "feedback.sock" ["what=${what}", "user=${user}", "mailbox=${mailbox}", "id=${id}"] {
      keep; # nobody answers: not worth a second attempt
    }
  }
}
