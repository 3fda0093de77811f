"""Sign-in with a password, for people only. A service account has API tokens."""

from typing import Any, ClassVar, Final, NoReturn
from urllib.parse import urlsplit, urlunsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.account.forms import ChangePasswordForm, LoginForm, ReauthenticateForm, ResetPasswordKeyForm, SignupForm
from allauth.account.models import EmailAddress
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp
from allauth.socialaccount.providers.base.constants import AuthProcess
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest
from django.shortcuts import redirect

from accounts.attempts import TooManyAttempts, attempt_begin
from accounts.models import User
from accounts.people.profiles import require_own_name

ROBOT_SIGNS_IN = ValidationError(
    "This is the account of a program. It signs in with API tokens alone, not with a password.", code="robot"
)


EXISTS = (
    "There is an account with your e-mail address already. Sign in to it, then connect the other one in your profile."
)


NOT_CORRECT: Final = "The user name, e-mail address or password is not correct."
MESSAGES: Final = {  # in place of allauth's, with this site's words
    "username_password_mismatch": NOT_CORRECT,
    "email_password_mismatch": NOT_CORRECT,
    "username_taken": "This user name is taken. Choose another one.",
    "username_blacklisted": "This user name is not given to anybody. Choose another one.",
}


def is_robot(user: object) -> bool:
    return isinstance(user, User) and user.is_robot


class PeopleBackend(AuthenticationBackend):  # type: ignore[misc]  # allauth has no types
    """Knows people alone: a service account gets no session, and one that it had from before ends."""

    def user_can_authenticate(self, user: Any) -> bool:
        return super().user_can_authenticate(user) and not is_robot(user)


# In the session: a path of this site to go on at, also after an address was confirmed.
AFTER_SIGN_IN: Final = "after_sign_in"


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Limits guesses, and explains that service accounts cannot sign in, as allauth would not."""

    error_messages: ClassVar[dict[str, str]] = {**DefaultAccountAdapter.error_messages, **MESSAGES}

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """The page that the person was on the way to; after a confirmed sign-up nothing else remembers it."""
        return str(request.session.get(AFTER_SIGN_IN) or super().get_login_redirect_url(request))

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Nobody makes an account on a public demo: it could do nothing."""
        return not settings.PUBLIC_DEMO

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Without allauth's own limit, by which anybody can lock a user name for everybody."""

    def authenticate(self, request: HttpRequest, **credentials: Any) -> AbstractBaseUser | None:
        """Raise `ValidationError`, shown on the page, for service accounts and after too many attempts."""
        login = str(credentials.get("email") or credentials.get("username") or "")
        try:
            attempt = attempt_begin(login=login, address=self.get_client_ip(request))
        except TooManyAttempts as refusal:
            raise ValidationError(refusal.detail, code=refusal.code) from refusal
        user: AbstractBaseUser | None = super().authenticate(request, **credentials)
        if user is not None:
            attempt.was_right()
        if is_robot(user):
            raise ROBOT_SIGNS_IN
        return user

    def send_mail(self, template_prefix: str, email: str, context: dict[str, object]) -> None:
        """Links lead to the site's own address, whatever host name the request came by."""
        links = {name: _at_site(value) for name, value in context.items()}
        super().send_mail(template_prefix, email, links | {"brand": settings.BRAND, "site_url": settings.SITE_URL})


class ConnectedAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Sign-in with the account of another site. An equal e-mail address alone opens no account."""

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Send service accounts, and who has an account, to the sign-in page by `ImmediateHttpResponse`."""
        if is_robot(sociallogin.user):
            self._led_back(request, str(ROBOT_SIGNS_IN.message))
        connects = sociallogin.is_existing or sociallogin.state.get("process") == AuthProcess.CONNECT
        named = {sociallogin.user.email, *(address.email for address in sociallogin.email_addresses)} - {"", None}
        if not connects and any(map(_has_account, named)):  # confirmed there or not: it is here that an account has it
            self._led_back(request, EXISTS)

    def populate_user(self, request: HttpRequest, sociallogin: Any, data: Any) -> User:
        """Take the other site's name over, unless the profile would refuse it."""
        user: User = super().populate_user(request, sociallogin, data)
        try:
            user.clean_fields(exclude={field.name for field in User._meta.fields} - {"first_name", "last_name"})
            require_own_name(user.get_full_name())
        except ValidationError:
            user.first_name = user.last_name = ""
        return user

    def get_app(self, request: HttpRequest, provider: Any, client_id: Any = None) -> Any:
        """Raises `Http404` for a site that nobody has set up: its address is there all the same."""
        try:
            return super().get_app(request, provider, client_id=client_id)
        except SocialApp.DoesNotExist as error:
            raise Http404 from error

    def _led_back(self, request: HttpRequest, why: str) -> NoReturn:
        messages.error(request, why)
        raise ImmediateHttpResponse(redirect("account_login"))


def _has_account(email: str) -> bool:
    """True where the address is some account's, its first one or another."""
    is_first = User.objects.filter(email__iexact=email).exists()
    return is_first or EmailAddress.objects.filter(email__iexact=email).exists()


def _at_site(value: Any) -> Any:
    """A link with the address of `PODIUM_SITE_URL`; anything else as it is."""
    if not isinstance(value, str) or not value.startswith(("http://", "https://")):
        return value
    return settings.SITE_URL + urlunsplit(("", "", *urlsplit(value)[2:]))


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """The sign-in form; it also takes the field `username`, as programs for other Django sites send it."""

    def __init__(self, *args: Any, data: Any = None, **kwargs: Any) -> None:
        if data is not None and "login" not in data and "username" in data:
            data = data.copy()
            data["login"] = data["username"]
        super().__init__(*args, data=data, **kwargs)
        self.fields["login"].label = "User name or e-mail address"
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)  # the label says it
        self.fields["remember"].label = "Remember me"


class SignUpForm(SignupForm):  # type: ignore[misc]  # allauth has no types
    """The same with labels like those of the sign-in form, which say what placeholders would say again."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"
        self.fields["email"].label = "E-mail address"
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class PasswordChangeForm(ChangePasswordForm):  # type: ignore[misc]  # allauth has no types
    """The same with labels like those of the site's other forms."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = "Current password"
        label_new_password(self)


class NewPasswordForm(ResetPasswordKeyForm):  # type: ignore[misc]  # allauth has no types
    """The same with labels like those of the site's other forms."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        label_new_password(self)


class ConfirmPasswordForm(ReauthenticateForm):  # type: ignore[misc]  # allauth has no types
    """The same without a placeholder, as the label says it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["password"].widget.attrs.pop("placeholder", None)


def label_new_password(form: ChangePasswordForm | ResetPasswordKeyForm) -> None:
    form.fields["password1"].label = "New password"
    form.fields["password2"].label = "New password (again)"
