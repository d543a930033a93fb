"""Secrets in what firstbreak shows or writes: one way to find them, used by every report, bundle, answer and message.

A secret is known by the name that it goes under (`api_key`, `--auth`), by its look (`hf_...`, a signature in an address), or by
being the value of a secret in the environment of this process.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstbreak.patterns import pattern

MASK = "[masked]"

#: Names whose value is a secret. "token" alone would catch eos_token and max_tokens.
_SECRET_NAME = pattern(
    r"""(?ix) (^|[_.]) ( pass(word|wd|phrase)? | pw | auth | secrets? | credentials? | authorization | cookie | dsn | webhooks?
    | (api|access|secret|private|account|storage|encryption|signing|license|wandb|openai|anthropic) _? keys?
    | (api|access|auth|bearer|hub|hf|huggingface|github|gitlab|refresh|session|bot|wandb|secret) _? tokens? ) $
    | (^|\.) token $ | [_.] pwd $ | api_?key | password | secret | webhook_?url """
)
#: Values that are secrets by their look, wherever they stand. Each expression takes time in proportion to the text.
_SECRET_VALUE = pattern(
    r"""(?x) (?<![A-Za-z0-9]) ( sk-[\w\-]{16,} | hf_[A-Za-z0-9]{16,} | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_\w{20,}
    | glpat-[\w\-]{16,} | (AKIA|ASIA)[A-Z0-9]{16} | xox[abprs]-[\w\-]{10,} | AIza[\w\-]{30,} | wandb_v1_\w{16,}
    | eyJ[\w\-]{8,1000}\.[\w\-]{8,}\.[\w\-]* )"""
)
#: Addresses that whoever knows them may post to
_WEBHOOK = pattern(
    r"(https?://(?:hooks\.slack\.com/(?:services|workflows)|(?:\w+\.)?discord(?:app)?\.com/api/webhooks"
    r"|[\w.-]+\.webhook\.office\.com/webhookb2)/)[^\s\"'<>)]+",
    re.IGNORECASE,
)
_SIGNED = pattern(
    r"([?&;](?:sig|signature|token|access_token|auth|key|api_?key|password|x-(?:amz|goog)-(?:signature|credential|security-token)"
    r"|awsaccesskeyid)=)[^&\s\"'<>#]+",
    re.IGNORECASE,
)
_KEY_BLOCK = pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL)
_URL_USER = pattern(r"(?<![a-z0-9+.\-])([a-z][a-z0-9+.\-]*://)[^/\s@]+@", re.IGNORECASE)
_BEARER = pattern(r"(\b(?:bearer|basic)\s+)[\w\-.=+/]{8,}", re.IGNORECASE)
#: `api_key = "..."`, `--api-key=...`, `"password": "..."` inside a text
_ASSIGNMENT = pattern(r"""(?<![\w.\-])([\w.\-]+)(["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s"',;)]+)""")
_PORT = pattern(r"\d{1,5}")


def by_look(text: str) -> str:
    """The text without what is a secret by its look alone, whatever stands around it."""
    if "://" in text:
        text = _SIGNED.sub(rf"\1{MASK}", _WEBHOOK.sub(rf"\1{MASK}", _URL_USER.sub(rf"\1{MASK}@", text)))
    return _SECRET_VALUE.sub(MASK, _KEY_BLOCK.sub(MASK, text) if "-----BEGIN" in text else text)


class Mask:
    """Hides secrets by their names as well, and those of an environment."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        secrets = {v for k, v in environment.items() if is_secret(k) and len(v) >= 8}
        self._known = re.compile("|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))) if secrets else None

    def text(self, text: str) -> str:
        """A text without secrets."""
        if self._known:
            text = self._known.sub(MASK, text)
        text = _BEARER.sub(rf"\1{MASK}", text)
        text = _ASSIGNMENT.sub(lambda m: f"{m[1]}{m[2]}{MASK}" if is_secret(m[1]) else m[0], text)
        return by_look(text)

    def tree(self, value: Any, name: str = "") -> Any:
        """Options as they are in JSON, without secrets."""
        if isinstance(value, Mapping):
            return {k: self.tree(v, str(k)) for k, v in value.items()}
        if isinstance(value, list):
            return [self.tree(v, name) for v in value]
        if is_secret(name) and value is not None and not isinstance(value, bool):
            return MASK
        return self.text(value) if isinstance(value, str) else value

    def command(self, arguments: Sequence[str]) -> Iterator[str]:
        """`--api-key X` hides X as `--api-key=X` does, and so does `-p X` where X is no port."""
        flag = ""
        for argument in arguments:
            secret = is_secret(flag.lstrip("-")) or (flag == "-p" and not _PORT.fullmatch(argument))
            yield MASK if secret and not argument.startswith("-") else self.text(argument)
            flag = argument if argument.startswith("-") and "=" not in argument else ""


def is_secret(name: str) -> bool:
    """Whether the value under this name is a secret."""
    return bool(_SECRET_NAME.search(name.replace("-", "_")))
