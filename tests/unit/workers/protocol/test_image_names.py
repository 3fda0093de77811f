"""Names of images are read by the distribution's grammar: no option and no path is one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.workers.protocol.test_jobs_and_settings import changed
from workers.agent.config import ConfigError, checked_image
from workers.protocol.images import ImageNameInvalid, parse_image
from workers.protocol.jobs import parse_job
from workers.protocol.messages import MessageInvalid

# The specification's grammar, as one expression: a registry is told by a dot, a port, or its name `localhost`.
DOMAIN = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
V6 = r"\[[a-fA-F0-9:]+\]"
HOST = rf"(?:{DOMAIN}(?:\.{DOMAIN})+|(?:{DOMAIN}(?:\.{DOMAIN})*|{V6}):[0-9]+|(?=[^/]*:){V6}|localhost)"
PLAIN = r"[a-z0-9]+(?:(?:__?|[-]+)[a-z0-9]+)*"  # a first part with a dot would be a registry
PART = r"[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*"
GRAMMAR = re.compile(
    rf"(?:{HOST}/{PART}(?:/{PART})*|{PLAIN}(?:/{PART})+|{PART})"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(?:@(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}))?"
)
HOSTS = st.sampled_from(
    [
        "",
        "localhost/",
        "localhost:5000/",
        "ghcr.io/",
        "10.0.0.1:80/",
        "[::1]:5000/",
        "[fe80::1]/",
        "Registry.example-1.org/",
    ]
)
PATHS = st.from_regex(rf"{PLAIN}(?:/{PART}){{0,3}}", fullmatch=True).filter(lambda text: len(text) <= 200)
TAGS = st.just("") | st.from_regex(r":[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,9}", fullmatch=True)
DIGESTS = st.sampled_from(["", f"@sha256:{'0a' * 32}", f"@sha512:{'f' * 128}"])
NAMES = st.builds("".join, st.tuples(HOSTS, PATHS, TAGS, DIGESTS))
NEARLY = st.text(alphabet="aZ09._-:/@[] \n\x00é", max_size=40) | st.text(max_size=30)
WRONG = {
    "--privileged -v /:/host": "repository",
    "-v": "repository",
    "": "no repository",
    "podium/Runtime:1": "at 'Runtime'",
    "podium//runtime": "repository",
    "podium/../runtime": "at '..'",
    "podium/runtime:": "tag ''",
    "podium/runtime:-1": "tag '-1'",
    "podium/runtime:1 ": "tag '1 '",
    "podium/runtime:1\n": r"tag '1\\n'",
    "podium/runtime@md5:00": "digest",
    "podium/runtime@sha256:00": "64 hexadecimal digits",
    "ghcr.io": None,  # a repository without a registry
    "-host.io/model": "registry",
    "host.io:port/model": "port 'port'",
    "host.io/": "no repository",
    "a" * 64: "id of an image",
    "a/" + "b" * 254: "longer than 255",
    "böse/image": "repository",
    "https://ghcr.io/lab/model": "port ''",
}


@pytest.mark.parametrize(("text", "words"), WRONG.items())
def test_a_refusal_names_the_part_that_is_wrong(text: str, words: str | None) -> None:
    if words is None:
        assert parse_image(text).registry == ""
        return
    with pytest.raises(ImageNameInvalid, match=words) as error:
        parse_image(text)
    assert "docker pull" in str(error.value)


@given(NAMES)
def test_every_name_of_the_grammar_is_read_and_given_back(text: str) -> None:
    assert GRAMMAR.fullmatch(text)
    assert str(parse_image(text)) == text or re.fullmatch(r"[0-9a-f]{64}", text.partition(":")[0])


@given(NEARLY)
def test_no_other_text_is_read(text: str) -> None:
    try:
        name = parse_image(text)
    except ImageNameInvalid:
        assert not GRAMMAR.fullmatch(text) or re.fullmatch(r"[0-9a-f]{64}", text.partition(":")[0])
    else:
        assert GRAMMAR.fullmatch(text)
        assert str(name) == text
        assert text[0] not in "-/."
        assert not re.search(r"\s", text)


def test_a_registry_with_a_port_is_no_tag() -> None:
    name = parse_image("localhost:5000/lab/model")
    assert (name.registry, name.repository, name.tag, name.digest) == ("localhost:5000", "lab/model", "", "")
    assert parse_image("model:5000").tag == "5000"
    assert parse_image("[::1]:5000/model").registry == "[::1]:5000"


def test_a_job_with_an_option_for_an_image_is_refused() -> None:
    with pytest.raises(MessageInvalid, match=r"stages\[0\]\.image': The image's repository '--privileged"):
        parse_job(changed(lambda message: message["stages"][0].update(image="--privileged -v /:/host")))


def test_a_setting_of_the_worker_names_an_image() -> None:
    assert checked_image("image", None) == "podium/runtime:1"
    with pytest.raises(ConfigError, match="--image: The image's tag"):
        checked_image("image", "podium/runtime:!")
