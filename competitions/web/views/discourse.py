"""The door by which people of this site sign in to its Discourse."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_safe

from accounts.demo import is_demo_account
from accounts.discourse import answer_url, read_request
from accounts.views import person
from competitions.web.public_demo import READ_ONLY


@require_safe
def sign_in(request: HttpRequest) -> HttpResponse:
    """Lead somebody who is signed in back to the forum, which learns who they are."""
    if not (settings.DISCOURSE_URL and settings.DISCOURSE_SECRET):
        raise Http404
    if is_demo_account(person(request)):
        raise READ_ONLY()  # the forum would keep what a visitor writes there
    secret = settings.DISCOURSE_SECRET
    payload, signature = request.GET.get("sso", ""), request.GET.get("sig", "")
    signed = read_request(payload, signature, secret=secret, forum=settings.DISCOURSE_URL)
    return HttpResponseRedirect(answer_url(signed, person(request), secret=secret))
