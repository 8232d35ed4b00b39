# Oborona: a person moved a message to the spam folder, or a mail program put one there: a complaint.
#
# It is said on Oborona's socket, without a program being started, and answered when it is on the disk. Where
# nobody answers it is said once more (Dovecot gives a connection 5 ms, which a busy machine may miss), then
# left in the spool. Whatever becomes of it, the person's move stands.
#
# Nobody's word: moves by a master user (sieve_env_master), and Oborona's own (it sets OboronaMoving before).

require ["vnd.dovecot.execute", "vnd.dovecot.environment", "environment", "variables", "imapsieve",
         "imap4flags", "date"];

if not anyof (hasflag "OboronaMoving", environment :matches "vnd.dovecot.config.master" "?*") {
  if environment :matches "imap.user" "*" {
    set "user" "${1}";
  }
  if environment :matches "imap.mailbox" "*" {
    set "mailbox" "${1}";
  }
  if currentdate :matches "iso8601" "*" {
    set "when" "${1}"; # by which what is said twice is known
  }
  if not execute :pipe "feedback.sock" ["what=complaint", "user=${user}", "mailbox=${mailbox}", "when=${when}"] {
    if not execute :pipe "feedback.sock" ["what=complaint", "user=${user}", "mailbox=${mailbox}", "when=${when}"] {
      execute :pipe "oborona-spool" ["what=complaint", "user=${user}", "mailbox=${mailbox}", "when=${when}"];
    }
  }
}
