"""Which names and texts are secret."""

from __future__ import annotations

import ast

import pytest

from keepset.core.secret_literals import filled_source, masked_source
from keepset.core.secrets import Mask, is_secret, placeholder, strength_of_name

# A value that no rule would take for an ordinary word.
_VALUE = "Tr0ub4dor&3"


def _words(text: str) -> list[str]:
    return text.split()


HIDDEN = _words("""
    key token secret password passwd pwd passphrase credential credentials auth cookie bearer apikey
    API_KEY apiKey APIKey api_key_2 OPENAI_API_KEY aws_secret_access_key AWS_ACCESS_KEY_ID
    aws_session_token access_token accessToken refreshToken HF_TOKEN github_token client_secret
    clientSecret SECRET_KEY db_password dbPassword DB_PWD DB_PASS ssh_passphrase basic_auth
    auth_header Authorization x-api-key X-Auth-Token Set-Cookie session_cookie private_key
    encryption_key account_key sas_token auth_tokens api_keys gcp_credentials jwt my_key
    connection_string _token __password wandb_key pw db_pw dbpass mypassword userpasswd smtpPass
""")

SHOWN = _words("""
    tokenizer max_tokens num_tokens token_ids token_type_ids tokens n_tokens pad_token eos_token
    bos_token unk_token mask_token cls_token special_tokens tokenize tokenized author authors
    authority author_name keypoints key_points key_frames keyboard monkey sort_key primary_key
    foreign_key feature_key label_key image_key keys key_name keyword turkey secretary passage
    compass cookie_name token_url auth_url password_length credentials_path key_func first_pass
    partition_key group_key public_key secret_name cookiecutter value_key index_key pwm bypass
""")


@pytest.mark.parametrize("name", HIDDEN)
def test_names_of_secrets_hide_texts(name: str) -> None:
    assert is_secret(_VALUE, strength_of_name(name))
    assert is_secret(_VALUE.encode(), strength_of_name(name))
    assert not is_secret(7, strength_of_name(name))


@pytest.mark.parametrize("name", SHOWN)
def test_other_names_do_not(name: str) -> None:
    assert not is_secret(_VALUE, strength_of_name(name))


def test_the_tables_are_long_enough() -> None:
    assert len(set(HIDDEN)) >= 40
    assert len(set(SHOWN)) >= 40


@pytest.mark.parametrize("value", ["image", "label_id", "<pad>", "[CLS]", "</s>", ""])
def test_a_key_or_a_token_may_be_an_ordinary_word(value: str) -> None:
    assert not is_secret(value, strength_of_name("key"))
    assert not is_secret(value, strength_of_name("token"))
    assert is_secret("image", strength_of_name("api_key"))


TEXTS = [
    ("https://bob:hunter2@example.com/a", "bob:hunter2"),
    ("postgresql+psycopg://bob:p@ss@db/x", "bob:p@ss"),
    ("https://a.com/f?X-Amz-Signature=0123abcd&x=1", "0123abcd"),
    ("https://a.com/f?x=1&X-Amz-Security-Token=Fwo%2Gb", "Fwo%2Gb"),
    ("https://a.blob.core.windows.net/c/f?sv=2022&sig=ab%2Bcd%3D", "ab%2Bcd%3D"),
    ("sv=2022-11-02&ss=b&sig=ab%2Bcd%3D", "ab%2Bcd%3D"),
    ("https://storage.googleapis.com/b/f?X-Goog-Signature=12ab", "12ab"),
    ("https://api.example.com/v1?key=Zx81q", "Zx81q"),
    ("AccountName=a;AccountKey=abcDEF12==;EndpointSuffix=x", "abcDEF12=="),
    ("host=db password=hunter2 user=bob", "hunter2"),
    ('{"user": "bob", "password": "hunter"}', '"hunter"'),
    ("{'password':'hunter'}", "'hunter'"),
    ("user: bob\npassword: hunter2\n", "hunter2"),
    ("psql --password=hunter -U bob", "hunter"),
    ("Bearer abc.def-123", "abc.def-123"),
    ("Authorization: Basic Ym9iOmh1bnRlcjI=", "Ym9iOmh1bnRlcjI="),
    ("id AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("ghp_" + "a1B2" * 9, "ghp_" + "a1B2" * 9),
    ("github_pat_" + "a1B2_" * 5, "github_pat_" + "a1B2_" * 5),
    ("glpat-" + "a1B2" * 5, "glpat-" + "a1B2" * 5),
    ("sk-proj-" + "a1B2" * 9, "sk-proj-" + "a1B2" * 9),
    ("sk_live_" + "a1B2" * 6, "sk_live_" + "a1B2" * 6),
    ("xoxb-12345678-abcdef", "xoxb-12345678-abcdef"),
    ("AIza" + "a1B2c" * 7, "AIza" + "a1B2c" * 7),
    ("hf_" + "aBcD" * 8, "hf_" + "aBcD" * 8),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sIgNaTuRe", "eyJhbGciOiJIUzI1NiJ9"),
    ("https://hooks.slack.com/services/T0001/B0001/abcdefgh", "abcdefgh"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----\n", "MIIabc"),
    ("-----BEGIN PRIVATE KEY-----\nMIIabc cut off", "MIIabc"),
]


@pytest.mark.parametrize(("text", "secret"), TEXTS)
def test_secrets_are_found_by_their_shape(text: str, secret: str) -> None:
    assert secret in text
    shown = Mask().text(text)
    assert secret not in shown
    assert "<secret sha256:" in shown
    assert Mask().text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/some/long/path/name.arrow",
        "abfss://container@account.dfs.core.windows.net/x",
        "ssh://git@github.com/a/b.git",
        "bob@example.com",
        "password: the one of the server",
        "api_key: str, and auth: Optional[str]",
        '{"token": "image", "author": "bob"}',
        "https://example.com/a?page=2&sort_key=name&X-Amz-Date=20260101",
        "key=%s token={}",
        "the bearer of the message, and a basic understanding",
        "/data/2026/images=3/monkey-business-and-more.png",
        "task-abcdefghijklmnopqrstuvwxyz",
        "-----BEGIN PUBLIC KEY-----\nMIIabc\n-----END PUBLIC KEY-----",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert Mask().text(text) == text


def test_what_is_secret_elsewhere_is_hidden() -> None:
    mask = Mask(["hunter2", "hunter2-and-more"])
    assert mask.text("a hunter2 b") == f"a {placeholder('hunter2')} b"
    assert mask.value([b"hunter2-and-more", 1]) == [placeholder("hunter2-and-more").encode(), 1]


SOURCES = [
    'def f(x):\n    api_key = "hunter2"\n    return x',
    'def f(x):\n    self.password: str = "hunter2"\n    return x',
    'lambda x: call(x, password="hunter2")',
    'lambda x: call(x, {"password": "hunter2"})',
    'lambda x: call(x, [("Authorization", "hunter2")])',
    'lambda x: x["password"] == "hunter2"',
    'def f(x):\n    password = os.environ.get("PASSWORD", "hunter2")\n    return x',
    'def f(x):\n    password = os.environ.get("PASSWORD") or "hunter2"\n    return x',
    'def f(x):\n    secret = "hunter2".encode()\n    return x',
    "def f(x):\n    secret = b'hunter2'\n    return x",
    'def f(x):\n    user, password = "bob", "hunter2"\n    return x',
    'def f(x):\n    config["password"] = "hunter2"\n    return x',
    'def f(x):\n    os.environ.setdefault("API_KEY", "hunter2")\n    return x',
    'def f(x):\n    client.set_api_key("hunter2")\n    return x',
    'def f(x):\n\n    def g(password="hunter2"):\n        return password\n    return g()',
    'def f(x):\n    password = decrypt(x, "hunter2")\n    return x',
    'def f(x):\n    password = "{}".format("hunter2")\n    return x',
    'def f(x):\n    (user, (host, password)) = "bob", ("h", "hunter2")\n    return x',
    'def f(x):\n    user, *passwords = "bob", "a", "hunter2"\n    return x',
    'def f(x):\n    *_, password = "bob:hunter2".split(":")\n    return x',
    'def f(x):\n    for password in ("a", "hunter2"):\n        x += login(password)\n    return x',
    'def f(x):\n    return [u for u, password in [("bob", "hunter2")]]',
    'def f(x):\n\n    def password():\n        return "hunter2"\n    return password()',
    'lambda x: call(x, auth=HTTPBasicAuth("bob", "hunter2"))',
    'def f(x):\n    return f"https://bob:hunter2@host/{x}"',
    'def f(x):\n    """Use https://bob:hunter2@host."""\n    return x',
]


@pytest.mark.parametrize("source", SOURCES)
def test_literals_in_source_are_hidden_and_can_be_filled_in_again(source: str) -> None:
    masked = masked_source(source)
    assert "hunter2" not in masked.text
    assert masked.hidden
    assert masked_source(masked.text).text == masked.text
    # What a placeholder stands for is the whole literal.
    constants = [each.value for each in ast.walk(ast.parse(source)) if type(each) is ast.Constant]
    whole = {placeholder(each): each for each in constants if isinstance(each, str | bytes)}
    literals = {
        shown: whole.get(shown, shown.replace(placeholder("bob:hunter2"), "bob:hunter2"))
        for shown in masked.hidden
    }
    assert ast.dump(ast.parse(filled_source(masked.text, literals))) == ast.dump(ast.parse(source))


def test_ordinary_source_stays_as_it_is() -> None:
    source = "def f(row):\n    key = row['name'].split('/')[-1]\n    return {'key': key, 'id': 'a'}"
    assert masked_source(source).text == source


def test_a_source_that_was_cut_is_stored_only_if_no_secret_is_named_in_it() -> None:
    assert masked_source("def f(x):\n    return (x\n...").text
    assert not masked_source("def f(x):\n    password = 'hunter2'\n    return (x\n...").text


def test_a_secret_that_is_written_with_escapes_is_found_in_a_source() -> None:
    secret = 'quote " and \\ and\nline'
    source = f"def f(x):\n    return {secret!r}"
    assert masked_source(source, (secret,)).text != source
    assert masked_source(source).text == source


@pytest.mark.parametrize("name", [*HIDDEN, "storage_options", "clientKwargs"])
def test_a_source_with_the_name_of_a_secret_is_looked_at(name: str) -> None:
    assert "Zq" not in masked_source(f"lambda x: call({{{name!r}: 'Zq-1'}})").text
