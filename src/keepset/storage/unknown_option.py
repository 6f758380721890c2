"""Options that no store has: mostly a name of another argument with a typing error in it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from types import FrameType
from typing import Final

from keepset.errors import InvalidArgumentError

# Of the obstore package, which has no list of them: for the connection, S3, Google Cloud and Azure.
CONNECTION: Final = (
    *("allow_http", "allow_invalid_certificates", "connect_timeout", "http1_only", "http2_only"),
    *("pool_idle_timeout", "proxy_ca_certificate", "proxy_excludes", "proxy_url"),
    *("randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent"),
)
_OF_ALL: Final = (*CONNECTION, "cache_bytes", "cache_dir", "client_options", "retry_config")
_S3: Final = (
    *("access_key_id", "checksum_algorithm", "conditional_put", "default_region"),
    *("disable_tagging", "endpoint", "endpoint_url", "region", "request_payer", "role_arn"),
    *("s3_express", "secret_access_key", "server_side_encryption", "session_token"),
    *("skip_signature", "sse_bucket_key_enabled", "sse_kms_key_id", "token", "unsigned_payload"),
    *("virtual_hosted_style_request", "web_identity_token_file"),
)
_GOOGLE: Final = (
    *("application_credentials", "base_url", "bearer_token", "service_account"),
    *("service_account_key", "skip_signature", "token"),
)
_AZURE: Final = (
    *("access_key", "account_key", "account_name", "client_id", "client_secret", "endpoint"),
    *("sas_key", "sas_token", "skip_signature", "tenant_id", "token", "use_azure_cli"),
    *("use_emulator",),
)
# The functions that users call are in other parts of the library.
_LIBRARY, _STORAGE = f"{__name__.partition('.')[0]}.", f"{__name__.rpartition('.')[0]}."
_OF_SCHEME: Final = {"s3": _S3, "gs": _GOOGLE, "az": _AZURE}


def unknown_options(
    names: Iterable[str], place: str, schemes: Iterable[str] = ()
) -> InvalidArgumentError:
    """The error for options that a place does not have.

    Args:
        names: The options.
        place: The place in words: ``'m' is a local path, which takes no options``.
        schemes: Those of the urls whose options may be meant.
    """
    import difflib  # slow, and needed for an error alone

    given = list(names)
    options = [name for scheme in schemes for name in (*_OF_ALL, *_OF_SCHEME.get(scheme, ()))]
    for name in given:
        function, parameters = _receivers(name)
        near = difflib.get_close_matches(name, [*parameters, *options], 1, 0.75)
        if near:
            what = f"{function}() has no argument" if function else "there is no option"
            return InvalidArgumentError(f"{what} {name!r}; did you mean {near[0]}=? ({place})")
    them = "it" if len(given) == 1 else "them"
    return InvalidArgumentError(f"{place}, but got {', '.join(given)}; leave {them} out")


def _receivers(name: str) -> tuple[str, list[str]]:
    """The function that a user gave a name for its ``**options``, and the parameters that it has.

    Found on the stack, where the functions of this library that pass options on are running.
    """
    function, parameters = "", list[str]()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        module = str(frame.f_globals.get("__name__"))
        is_public = module.startswith(_LIBRARY) and not module.startswith(_STORAGE)
        if is_public and code.co_flags & inspect.CO_VARKEYWORDS:
            named = code.co_argcount + code.co_kwonlyargcount
            rest = named + bool(code.co_flags & inspect.CO_VARARGS)
            taken = frame.f_locals.get(code.co_varnames[rest])
            if isinstance(taken, dict) and name in taken:
                function = code.co_qualname.removesuffix(".__init__").rpartition(".")[2]
                parameters += [each for each in code.co_varnames[:named] if each != "self"]
        frame = frame.f_back
    return function, parameters
