"""Django's sessions in the database, whose question is asked by every page that a person who is signed in sees."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from core.composed import Composed

_ask = Composed(lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now))


class SessionStore(db.SessionStore):
    """Everything but the reading is Django's own; the reading gives what Django's own does, its SQL composed once a process."""

    def _get_session_from_db(self) -> Session | None:
        found = _ask(key=str(self.session_key), now=timezone.now())
        if not found:
            self._session_key = None  # an expired session and an unknown one are both as good as none
            return None
        return found[0]
