"""Signals about submissions, sent inside the transaction of the change."""

from django.dispatch import Signal

# Sent with `submission`, the `tasks` it is to be run on and `now`, once a submission is accepted.
# A receiver that raises undoes the acceptance.
submission_accepted = Signal()


# Sent inside the transaction with `submission`, when a submission reached a final status or left one; where a run of it did
# so, also with `now` and the `reason`, a sentence that is published where the board was committed to.
# Boards follow it; a receiver that raises undoes the move, so a score is never half recorded.
submission_settled = Signal()


# Sent inside the transaction with `submission`, when its team changed its commit or link, or an organizer removed them.
source_changed = Signal()


# Sent inside the transaction with `submissions` of one team, `now` and the public `reason`, when they were
# disqualified or reinstated.
standing_changed = Signal()
