# Oborona: a person moved a message out of the spam folder: a not-spam report, unless it went into the trash.
#
# As oborona-spam.sieve says it. The trash is known by its name, and by the mark that clients know it by.

require ["vnd.dovecot.execute", "vnd.dovecot.environment", "environment", "variables", "imapsieve",
         "imap4flags", "special-use", "date"];

if environment :matches "imap.mailbox" "*" {
  set "mailbox" "${1}";
}
if not anyof (hasflag "OboronaMoving", environment :matches "vnd.dovecot.config.master" "?*",
              string "${mailbox}" ["Junk", "Trash"], specialuse_exists "${mailbox}" "\\Trash",
              specialuse_exists "${mailbox}" "\\Junk") {
  if environment :matches "imap.user" "*" {
    set "user" "${1}";
  }
  if currentdate :matches "iso8601" "*" {
    set "when" "${1}";
  }
  if not execute :pipe "feedback.sock" ["what=pardon", "user=${user}", "mailbox=${mailbox}", "when=${when}"] {
    if not execute :pipe "feedback.sock" ["what=pardon", "user=${user}", "mailbox=${mailbox}", "when=${when}"] {
      execute :pipe "oborona-spool" ["what=pardon", "user=${user}", "mailbox=${mailbox}", "when=${when}"];
    }
  }
}
