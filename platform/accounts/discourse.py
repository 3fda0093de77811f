"""DiscourseConnect: the site tells a Discourse, which makes and takes the nonce, who somebody is."""

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from allauth.account.models import EmailAddress

from accounts.models import User
from core.refusals import RefusalKind

RETURN_PATH: Final = "/session/sso_login"
MAX_PAYLOAD: Final = 4_000  # characters; Discourse sends some 200

NOT_FROM_DISCOURSE: Final = RefusalKind(
    403,
    "not_from_discourse",
    "This sign-in link was not made by the forum of this site: {what}. Go to the forum and sign in there again.",
)


@dataclass(frozen=True)
class SignInRequest:
    """A request of the forum whose signature is right."""

    nonce: str
    return_url: str


def _signature(payload: str, secret: str) -> str:
    return hmac.new(secret.encode(), payload.encode(), hashlib.sha256).hexdigest()


def read_request(payload: str, signature: str, *, secret: str, forum: str) -> SignInRequest:
    """The signed request. Raises `NOT_FROM_DISCOURSE` if the forum did not sign it, or it leads elsewhere."""
    if not payload or len(payload) > MAX_PAYLOAD:
        raise NOT_FROM_DISCOURSE(what="it has no payload, or a long one")
    if not hmac.compare_digest(_signature(payload, secret).encode(), signature.lower().encode()):
        raise NOT_FROM_DISCOURSE(what="its signature is wrong")
    try:
        values = parse_qs(base64.b64decode(payload, validate=True).decode(), max_num_fields=20)
    except (binascii.Error, ValueError) as error:
        raise NOT_FROM_DISCOURSE(what="its payload cannot be read") from error
    nonce, return_url = values.get("nonce", [""])[0], values.get("return_sso_url", [""])[0]
    if not nonce:
        raise NOT_FROM_DISCOURSE(what="it has no nonce")
    if not _leads_to(return_url, forum):
        raise NOT_FROM_DISCOURSE(what="it leads to another site")
    return SignInRequest(nonce, return_url)


def _leads_to(url: str, forum: str) -> bool:
    """True for the address of the forum that takes answers, at the same scheme, host and port."""
    try:
        parts, own = urlsplit(url), urlsplit(forum)
        is_same = (parts.scheme, parts.hostname, parts.port) == (own.scheme, own.hostname, own.port)
    except ValueError:
        return False
    is_plain = not (parts.username or parts.password or parts.query or parts.fragment or "\\" in url)
    return is_same and is_plain and parts.path == own.path.rstrip("/") + RETURN_PATH


def answer_url(request: SignInRequest, user: User, *, secret: str) -> str:
    """The address that tells the forum who somebody is.

    The forum confirms an address by itself that is not confirmed here: it could be another's.
    """
    is_confirmed = EmailAddress.objects.filter(user=user, email__iexact=user.email, verified=True).exists()
    values = {
        "nonce": request.nonce,
        "external_id": user.pk,
        "email": user.email,
        "username": user.get_username(),
        "name": str(user),
        "require_activation": "false" if is_confirmed else "true",
    }
    payload = base64.b64encode(urlencode(values).encode()).decode()
    return f"{request.return_url}?{urlencode({'sso': payload, 'sig': _signature(payload, secret)})}"
