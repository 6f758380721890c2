"""Which names and texts are secret."""

from __future__ import annotations

import ast
import functools
import time
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest

from keepset.core.secrets import (
    SURE,
    Mask,
    is_secret,
    placeholder,
    secret_texts,
    strength_of_name,
)
from keepset.core.secrets.arguments import positional_name
from keepset.core.secrets.holders import own_attributes
from keepset.core.secrets.literals import filled_source, masked_source

# A value that no rule would take for an ordinary word.
_VALUE = "Tr0ub4dor&3"


def _words(text: str) -> list[str]:
    return text.split()


HIDDEN = _words("""
    key token secret password passwd pwd passphrase credential credentials auth cookie bearer
    apikey API_KEY apiKey APIKey api_key_2 OPENAI_API_KEY aws_secret_access_key AWS_ACCESS_KEY_ID
    aws_session_token access_token accessToken refreshToken HF_TOKEN github_token client_secret
    clientSecret SECRET_KEY db_password dbPassword DB_PWD DB_PASS ssh_passphrase basic_auth
    auth_header Authorization x-api-key X-Auth-Token Set-Cookie session_cookie private_key
    encryption_key account_key sas_token auth_tokens api_keys gcp_credentials jwt my_key
    connection_string _token __password wandb_key pw db_pw dbpass mypassword userpasswd smtpPass
    id_token idToken data_key dataKey file_key token_str token_value key_str webhook_url WEBHOOK
    sas_url conn_str CONN_STRING connstr connectionString dsn SENTRY_DSN PASS MY_PASS pass_phrase
    pass_word session_id sessionid sessid PHPSESSID SAS account_sas github_pat databricks_pat
    passkey totp_seed seed_phrase mnemonic recovery_code APIkey hftoken openaikey githubtoken
    mytoken telegram_token npm_token signed_url subscription_key
    salt SALT HASH_SALT passwordSalt pepper PEPPER password_pepper login LOGIN db_login ADMIN_LOGIN
    pin PIN card_pin user_pin access_code unlockCode pairing_code
""")

# Of these, numbers are hidden as well.
NUMBERS = _words("""
    password passwd pwd secret credential credentials PASSWORD DB_PASSWORD dbPassword db_password
    __password mypassword userpasswd pass_word DB_PWD client_secret clientSecret gcp_credentials
    password2 admin_passcode passwords app_secrets
""")
# Of these, numbers are shown, whatever a text would be.
COUNTS = _words("""
    password_length max_secret_count n_credentials num_secrets maxPasswords min_password
    total_secrets secret_size secret_index password_min_len credentials_version
""")

# Of these, only what looks random is hidden.
VAGUE = _words("tokens KEYS PAT all_keys my_pat signature nonce request_nonce")
_RANDOM = "Zq7xWv3TnB9kLm2Rt5"

SHOWN = _words("""
    tokenizer max_tokens num_tokens token_ids token_type_ids tokens n_tokens pad_token eos_token
    bos_token unk_token mask_token cls_token special_tokens tokenize tokenized author authors
    authority author_name keypoints key_points key_frames keyboard monkey sort_key primary_key
    foreign_key feature_key label_key image_key keys key_name keyword turkey secretary passage
    compass cookie_name token_url auth_url password_length credentials_path key_func first_pass
    partition_key group_key public_key secret_name cookiecutter value_key index_key pwm bypass
    token_dim token_embedding token_level key_dim key_signature music_key minor_key piano_key
    mode_key cookie_dough KEYS pattern path pat url urls image_url session sessions
    seed seeds code codes phrase string conn database pathlib rng_key attention_key KeyError
    token_pattern salt_and_pepper salt_pepper saltpepper bell_peppers basalt desalt pepperoni
    last_login login_url login_count login_page first_login pin_memory pinned spin bowling_pin
    pins_of_row
    zip_code country_code error_code encode decode label_salt unicode opcode announce
""")


@pytest.mark.parametrize("name", HIDDEN)
def test_names_of_secrets_hide_texts(name: str) -> None:
    assert is_secret(_VALUE, strength_of_name(name))
    assert is_secret(_VALUE.encode(), strength_of_name(name))
    for value in (48151623, 4.5, np.int64(7)):
        assert is_secret(value, strength_of_name(name)) == (name in NUMBERS)
    assert not is_secret(True, strength_of_name(name))
    assert not is_secret(None, strength_of_name(name))


@pytest.mark.parametrize("name", NUMBERS)
def test_names_of_passwords_hide_numbers(name: str) -> None:
    for value in (48151623, -1, 4.5, 1j, Decimal("4.5"), np.float32(4.5), np.uint8(7)):
        assert is_secret(value, strength_of_name(name))


@pytest.mark.parametrize("name", COUNTS)
def test_names_of_counts_and_sizes_hide_no_numbers(name: str) -> None:
    assert not is_secret(8, strength_of_name(name))


@pytest.mark.parametrize("name", SHOWN)
def test_other_names_do_not(name: str) -> None:
    assert not is_secret(_VALUE, strength_of_name(name))
    assert not is_secret(8, strength_of_name(name))


@pytest.mark.parametrize("name", VAGUE)
def test_some_names_hide_only_what_looks_random(name: str) -> None:
    assert is_secret(_RANDOM, strength_of_name(name))
    for value in ("Name-1", "ImageNetTrain2012", "efficientnet_b0_224x224", "layer3a_conv2b_1x1"):
        assert not is_secret(value, strength_of_name(name))


@pytest.mark.parametrize("name", SHOWN)
def test_names_that_stay_readable_hide_no_names_of_models(name: str) -> None:
    assert not is_secret("ResNet50-V2", strength_of_name(name))


def test_the_tables_are_long_enough() -> None:
    assert len(set(HIDDEN)) >= 40
    assert len(set(SHOWN)) >= 40


@pytest.mark.parametrize(
    "value",
    ["image", "label_id", "<pad>", "[CLS]", "</s>", "", "##", "L", "__name__", "\x00", "..."],
)
def test_a_key_or_a_token_may_be_an_ordinary_word(value: str) -> None:
    assert not is_secret(value, strength_of_name("key"))
    assert not is_secret(value, strength_of_name("token"))
    assert is_secret("image", strength_of_name("api_key"))


# In each, @@ stands for a secret.
TEMPLATES = [
    "Authorization: Token @@",
    "Authorization: ApiKey @@",
    "Authorization: Digest username='a', response='@@'",
    "Authorization: AWS4-HMAC-SHA256 Credential=AK/x, Signature=@@",
    "Proxy-Authorization: Basic @@",
    "curl -H 'Authorization: Token @@' http://host",
    'curl -H "X-Api-Key: @@" http://host',
    "curl -u bob:@@ http://host",
    "curl -s --proxy-user=bob:@@ http://host",
    "sshpass -p @@ ssh host",
    "mysql -uroot -p@@ db",
    "mariadb-dump -p'@@' db",
    "redis-cli -h host -a @@ ping",
    "bob:@@@db.example.org",
    "connect to bob:@@@localhost:5432, please",
    "Cookie: sessionid=@@; path=/",
    "Set-Cookie: sid=@@; HttpOnly",
    "password = @@",
    'password = "@@"',
    "password == '@@'",
    "[default]\naws_access_key_id = AK\naws_secret_access_key = @@\n",
    'API_KEY="@@"',
    "export PASSWORD='@@'",
    "$env:API_KEY = '@@'",
    "host=h password='@@' dbname=d",
    "Server=h; Password = @@;",
    "connect(user='a', password='@@')",
    "connect(user='a', password=b'@@')",
    "def connect(password: str = '@@')",
    '{"token": "@@"}',
    '{"key": "@@"}',
    '{"auth": {"token": "@@"}}',
    '{"credentials": {"user": "bob", "value": "@@"}}',
    '{"api_keys": ["@@", "b"]}',
    "{'api_keys': ['a', '@@']}",
    '{\\"password\\": \\"@@\\"}',
    '{"password": "a\'@@"}',
    '{"password": "a\\"@@"}',
    "token: @@",
    "api_keys:\n  - first\n  - @@\n",
    "api_keys: [a, @@]",
    "https://host/#access_token=@@",
    "https://host/x?a=1;token=@@",
    "https://host/x?token=%2F@@",
    "https://host/api/x?code=@@",
    "//registry.example/:_authToken=@@",
    "https://api.telegram.org/bot123456789:AA@@@@/sendMessage",
    "https://x.webhook.office.com/webhookb2/@@/IncomingWebhook/x",
    "postgres://u:a/@@@host/db",
    "postgres://u:a#@@@host/db",
    "postgres://u:a?@@@host/db",
    "postgres://bob:@@/abc@host/db",
    "jdbc:oracle:thin:scott/@@@host:1521/x",
    "tool --password @@ --other 1",
    "tool --api-key @@",
    "tool --token @@ --size 3",
    "curl --key @@",
    "machine host login bob password @@",
    "ALTER USER a WITH PASSWORD '@@'",
    "CREATE USER a IDENTIFIED BY '@@'",
    "<password>@@</password>",
]
_MIXED, _HEX = "aB1cD2eF3gH4" * 4, "0a1b2c3d" * 5
KEYS = [
    *(("xai-", _MIXED), ("tgp_v1_", _MIXED), ("pcsk_", _MIXED), ("fw_", _MIXED)),
    *(
        ("lsv2_pt_", _HEX),
        ("ATATT3xFfGF0", _MIXED),
        ("sq0atp-", _MIXED),
        ("EAACEdEose0cBA", _MIXED),
    ),
    *(("1//0g", _MIXED), ("dp.pt.", _MIXED), ("figd_", _MIXED), ("pul-", _HEX)),
    *(("NRAK-", _MIXED.upper()), ("glsa_", _MIXED), ("sntrys_", _MIXED), ("rubygems_", _HEX)),
    *(("tvly-dev-", _MIXED), ("wandb_v1_", _MIXED)),
    *(("ntn_", _MIXED), ("apify_api_", _MIXED), ("phc_", _MIXED), ("key-", _HEX[:32])),
]

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
    ("Bearer correct-horse-battery", "correct-horse-battery"),
    ("bob:hunter2@db.example.org", "bob:hunter2"),
    ("bob:hunter@10.0.0.1:80", "bob:hunter"),
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
    *((text.replace("@@", "Zq7xWv3TnB9kLm2Rt5"), "Zq7xWv3TnB9kLm2Rt5") for text in TEMPLATES),
    *((prefix + rest, rest) for prefix, rest in KEYS),
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
        "sig=Left9",
        "basic training101course",
        "cookie: chocolate-chip1",
        "Write the key: value pairs; the token: is split",
        "Authorization: Bearer tokens are explained below",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "password = get_password()",
        "api_key = os.environ['API_KEY']",
        "use --password to set it, or --token",
        "use --token to set it, and --key column to sort",
        "s3://bucket/train/key=2024-01-01/part-0.parquet",
        "key=A1;value=B2",
        "key: C#minor7",
        "wget https://host:8080/path@v2",
        "http://localhost:8000/users?mail=bob@example.com",
        "sort(key='Name')",
        "token.startswith('##')",
        "fw_mapping_of_forward_weights pul-mona-ry phc_something key-value-pairs-of-the-table",
        "xai-explainable-artificial-intelligence-methods",
        "MLP(1//0, dp.pt.x) and dp.pt.something_that_is_no_key",
        "tokens: ['a', 'B1'], keys: [layer1.conv2b]",
        "SELECT token FROM words WHERE key = 'Name'",
        "label:a@b and 12:30@c.com",
        "Bob:bob@example.com, alice:alice42@example.com; owner:jsmith42@example.com",
        "mailto:bob1@mail.example.com From:bob1@mail.example.com",
        "npm:react@17.0.2 model:bert2@torch.hub image:1.25@sha256:0123",
        "Bearer authentication",
        "curl -u bob https://host and curl https://host -o file",
        "mysql -u root -p db and mysql -P3306 --protocol=tcp",
        "redis-cli -h host",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert Mask().text(text) == text


def test_what_is_secret_elsewhere_is_hidden() -> None:
    mask = Mask(["hunter2", "hunter2-and-more"])
    assert mask.text("a hunter2 b") == f"a {placeholder('hunter2')} b"
    assert mask.value([b"hunter2-and-more", 1]) == [placeholder("hunter2-and-more").encode(), 1]


@pytest.mark.parametrize(
    "template",
    [
        *TEMPLATES,
        "name: password ",
        "name:password,\nvalue:",
        "a " * 9,
        "x://a:b/",
        "a-",
        "eyJaaaaaaaa-",
        "fw_",
    ],
)
def test_long_texts_take_linear_time(template: str) -> None:
    text = (template * (250_000 // len(template)))[:250_000]
    start = time.process_time()
    Mask().text(text)
    # It takes less than a second; whatever is not linear takes minutes.
    assert time.process_time() - start < 20


def test_a_secret_that_is_not_ascii_is_found_in_bytes() -> None:
    mask = Mask(["pässwörd€1"])
    assert mask.value("v pässwörd€1".encode()) == f"v {placeholder('pässwörd€1')}".encode()
    assert mask.value(b"\xff\xfe v") == b"\xff\xfe v"
    header = b"\xff Authorization: Token Zq7xWv3TnB9kLm2Rt5"
    assert b"Zq7x" not in mask.value(header)
    assert mask.value(header).startswith(b"\xff Authorization: Token ")


@pytest.mark.parametrize(
    "secret", ["qu'ote-1", 'qu"ote-1', "back\\slash-1", "líne\n-1", "'\"both-1"]
)
def test_a_secret_is_found_as_it_is_written_within_others(secret: str) -> None:
    for value in (secret, f"a {secret}", f"a {secret} '", f'a {secret} "'):
        for shown in (repr(value), repr(value.encode()), repr([value, 1])):
            masked = Mask([secret]).text(shown)
            assert "-1" not in masked
            assert "<secret sha256:" in masked


def test_what_follows_an_option_in_a_list_is_hidden() -> None:
    command = ["tool", "--password", "hunter2", "--size", "3"]
    assert Mask().value(command) == [*command[:2], placeholder("hunter2"), *command[3:]]
    assert secret_texts(command) == {"hunter2"}
    columns = ["user", "password", "Email1"]
    assert Mask().value(columns) == columns


@pytest.mark.parametrize(
    ("command", "secret"),
    [
        (["curl", "-u", "bob:hunter2", "https://host"], "bob:hunter2"),
        (["/usr/bin/curl", "--user", "bob:hunter2"], "bob:hunter2"),
        (["curl", "-H", "a 'b' -u c:d", "--user=bob:hun ter2'"], "bob:hun ter2'"),
        (["curl", "-sSu", "bob:hunter2", "https://host"], "bob:hunter2"),
        (["curl", "-u", "bob:hunter2", *["https://host"] * 200], "bob:hunter2"),
        (["mysql", "-uroot", "-phunter2", "db"], "hunter2"),
        (["sshpass", "-p", "hunter2", "ssh", "host"], "hunter2"),
        (["redis-cli", "-p", "6379", "-a", "hunter2"], "hunter2"),
    ],
)
def test_secrets_are_found_in_the_words_of_a_command(command: list[str], secret: str) -> None:
    shown = [word.replace(secret, placeholder(secret)) for word in command]
    for value in (command, tuple(command), [word.encode() for word in command]):
        assert secret_texts(value) == {secret}
        assert [*map(_text, Mask().value(value))] == shown
        assert type(Mask().value(value)) is type(value)
        assert Mask().value(Mask().value(value)) == Mask().value(value)
    masked = masked_source(f"lambda x: run({command!r})")
    assert masked.text == f"lambda x: run({shown!r})"


def test_each_login_of_a_command_is_hidden_whole() -> None:
    command = ["curl", "-u", "ada:hunter22", "--proxy-user", "ada:hunter22x", "https://host"]
    hidden = [placeholder(word) if ":h" in word else word for word in command]
    assert Mask().value(command) == hidden
    assert Mask().text(" ".join(command)) == " ".join(hidden)
    assert masked_source(f"lambda x: run({command!r})").text == f"lambda x: run({hidden!r})"


def _text(word: str | bytes) -> str:
    return word.decode() if isinstance(word, bytes) else word


@pytest.mark.parametrize(
    "command",
    [
        ["curl", "-u", "bob", "https://host", "-o", "a:b"],
        ["curl", "-ou", "a:b"],
        ["mysql", "-p", "db", "-P3306"],
        ["redis-cli", "-h", "host"],
        ["words", "-u", "bob:hunter2", "-p", "8080"],
    ],
)
def test_other_words_of_commands_stay(command: list[str]) -> None:
    assert secret_texts(command) == set()
    assert Mask().value(command) is command
    source = f"lambda x: run({command!r})"
    assert masked_source(source).text == source


class Asking:
    def __call__(self, api_key: str, x: int) -> int:
        return x


def test_arguments_go_by_the_names_of_parameters() -> None:
    def login(user: str, password: str, *tokens: str) -> None: ...

    @functools.wraps(login)
    def wrapped(*args: str) -> None: ...

    assert positional_name(Asking(), 0) == "api_key"
    assert positional_name(Asking().__call__, 0) == "api_key"
    assert positional_name(wrapped, 1) == positional_name(functools.cache(login), 1) == "password"
    assert positional_name(login, 5) == "tokens"
    assert positional_name(Login, 1) == "password"
    assert positional_name(len, 0) == positional_name(Asking(), 7) == ""


class Login(NamedTuple):
    user: str
    password: str


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
    'def f(x):\n    token = "".join(["hunter2"])\n    return x',
    'def f(x):\n    token = "{}-{}".format("hunter2", x)\n    return x',
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
    "def f(x):\n    match password:\n        case 'hunter2':\n            return x",
    "def f(x):\n    match x:\n        case {'password': 'hunter2'}:\n            return x",
    "def f(x):\n    match x:\n        case Login(password='hunter2'):\n            return x",
    "lambda x: hmac.compare_digest(password, 'hunter2')",
    "lambda x: password.startswith('hunter2')",
    "lambda x: token.startswith('Zq7xWv3Tnhunter2B9kLm2Rt5')",
    "lambda x: get_token() == 'hunter2'",
    "lambda x: password.strip() == 'hunter2'",
    "lambda x: os.getenv('API_KEY', default='hunter2')",
    "lambda x: os.environ.get('HF_TOKEN') or 'hunter2'",
    "lambda x: password if password else 'hunter2'",
    "def f(x):\n\n    def log(user, password):\n        return 0\n    return log('bob', 'hunter2')",
    "lambda x: HTTPBasicAuth('user', 'hunter2')",
    "lambda x: SecretStr('hunter2')",
    "lambda x: ApiKey('hunter2')",
    "lambda x: authenticate('hunter2')",
    "lambda x: setattr(o, 'password', 'hunter2')",
    "lambda x: parser.add_argument('--password', default='hunter2', help='a word')",
    "lambda x: ['tool', '--password', 'hunter2']",
    "lambda x: run(['curl', '-u', 'bob:hunter2', x])",
    "lambda x: run(('curl', '-u', f'bob:hunter2{x}'))",
    "lambda x: run(['mysql', '-phunter2', *x])",
    "lambda x: 'Bearer ' + 'hunter21'",
    "lambda x: b'Bearer ' + b'hunter21'",
    "lambda x: f\"Bearer {'hunter21'}\"",
    "lambda x: 'Bearer %s' % 'hunter21'",
    "lambda x: 'password={}'.format('hunter2')",
    "lambda x: 'password={name}'.format(name='hunter2')",
    "lambda x: f'postgres://{user}:hunter2@host/db'",
    "lambda x: 'postgres://' + user + ':hunter2@' + host",
    "def f(x):\n    get_password = lambda: 'hunter2'\n    return x",
    "def f(x):\n    value = 'hunter2'\n    return login(password=value)",
    "def f(x):\n    c = {'v': ['a', 'hunter2']}\n    return login(password=c['v'][-1].strip())",
    "def f(x):\n\n    class Secrets:\n        prod = 'hunter2'\n    return Secrets.prod",
    "def f(x):\n\n    class ApiKeys(Enum):\n        PROD: str = 'hunter2'\n    return ApiKeys.PROD",
    "lambda x: [{'name': 'DB_PASSWORD', 'value': 'hunter2'}]",
    "lambda x: [{'value': 'hunter2', 'Name': 'DB_PASSWORD'}]",
    "lambda x: EnvVar(name='DB_PASSWORD', value='hunter2')",
    "lambda x: dict(zip(['user', 'password'], ['bob', 'hunter2']))",
    "def f(x):\n    API_KEY = re.compile('hunter2')\n    return x",
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
    literals: dict[str, str | bytes] = {}
    for shown in masked.hidden:
        inside = shown
        for part in ("bob:hunter2", "hunter2"):
            inside = inside.replace(placeholder(part), part)
        literals[shown] = whole.get(shown, inside)
    assert ast.dump(ast.parse(filled_source(masked.text, literals))) == ast.dump(ast.parse(source))


NUMBERS_IN_SOURCE = [
    "def f(x):\n    password = 48151623\n    return x",
    "def f(x):\n    DB_PASSWORD: int = 48151623\n    return x",
    "def f(x):\n    user, secret = 'bob', -48151623\n    return x",
    "def f(x):\n    config['password'] = 48151623\n    return x",
    "def f(x):\n    self.client_secret = 4815.1623\n    return x",
    "def f(x, password=48151623):\n    return x",
    "def f(x, *, credential=48151623):\n    return x",
    "lambda x: call(x, password=48151623)",
    "lambda x: call(x, {'password': 48151623, 'size': 3})",
    "lambda x: call(x, credentials=('bob', 48151623))",
    "lambda x: x['password'] == 48151623",
    "lambda x: password or 48151623",
    "lambda x: password in (48151623, 3)",
    "lambda x: os.environ.get('PASSWORD', 48151623)",
    "lambda x: ['tool', '--password', 48151623]",
    "lambda x: {'name': 'DB_PASSWORD', 'value': 48151623}",
    "lambda x: dict(zip(['user', 'password'], ['bob', 48151623]))",
    "def f(x):\n    match x:\n        case Login(password=48151623):\n            return x",
]


@pytest.mark.parametrize("source", NUMBERS_IN_SOURCE)
def test_numbers_in_source_are_hidden_and_can_be_filled_in_again(source: str) -> None:
    masked = masked_source(source)
    assert "4815" not in masked.text
    assert masked_source(masked.text).text == masked.text
    numbers = {placeholder(each): each for each in (48151623, 4815.1623, 3, "bob")}
    given = {shown: numbers[shown] for shown in masked.hidden}
    assert ast.dump(ast.parse(filled_source(masked.text, given))) == ast.dump(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    password_length = 8\n    return x",
        "lambda x: call(x, max_secret_count=8, n_credentials=2)",
        "lambda x: len(password) < 8 and password[0] != x",
        "lambda x: password.find('@') >= 0",
        "lambda x: check_length(password, 8)",
        "lambda x: hash_password(x, 12)",
        "def f(x):\n    password = generate(12)\n    return x",
        "def f(x):\n    password = words[3:5]\n    return x",
        "def check_password(x):\n    return 0 if x else 1",
        "lambda x: login(verify_password=True, password=None)",
        "lambda x: call(x, token=5, api_key=7)",
    ],
)
def test_sizes_flags_and_positions_in_source_stay(source: str) -> None:
    assert masked_source(source).text == source


def test_ordinary_source_stays_as_it_is() -> None:
    source = "def f(row):\n    key = row['name'].split('/')[-1]\n    return {'key': key, 'id': 'a'}"
    assert masked_source(source).text == source


@pytest.mark.parametrize(
    "source",
    [
        "lambda x: f'postgres://admin:{pw}@{host}/db'",
        "lambda x: auth_header.startswith('Bearer ')",
        "lambda x: key.startswith('module.') or token.startswith('##')",
        "lambda x: password.encode('UTF-8')",
        "lambda x: '-A1'.join(x) or 'pass'",
        "lambda x: get_secret('Prod/db')",
        "lambda x: parser.add_argument('--password', help='The one of the server, v2')",
        "lambda x: ['user', 'password', 'Email1']",
        "lambda x: f'Authorization: Bearer {token}'",
        "lambda x: 'password={}'.format(password)",
        "lambda x: Tokenizer('Bert-V2')(x) + KeyPoints('Coco17')",
        "lambda x: x if kind == 'A1' else KeyError('No such Name')",
        "def f(x):\n\n    class Tokens:\n        pad, stop = '<pad>', '<|a:2|>'\n    return x",
        "def f(x):\n\n    class Keys:\n        label = 'label/class'\n    return Keys.label",
        "def f(x):\n\n    class Tokenizer:\n        name = 'Bert-V2'\n    return Tokenizer.name",
        "def f(x):\n\n    class PasswordFilter:\n        field = 'Login/2'\n    return x",
        "lambda x: {'name': 'token_id', 'value': 'shown-value'}",
        "lambda x: dict(zip(['key', 'name'], ['image/encoded', 'A1']))",
        "def f(x):\n    token = 'a' if x else MASK\n    return token.replace('Image/', '')",
        "lambda x: mask_secrets(x, 'Field/1')",
    ],
)
def test_ordinary_literals_stay(source: str) -> None:
    assert masked_source(source).text == source


def test_arguments_of_functions_that_are_defined_elsewhere_are_known() -> None:
    source, signatures = "lambda x: login('bob', 'hunter2')", (("login", ("user", "password")),)
    masked = masked_source(source, (), signatures)
    assert masked.text == f"lambda x: login('bob', {placeholder('hunter2')!r})"
    assert masked.secrets == {"hunter2"}


class HostileSecrets:
    @property
    def __dict__(self) -> dict[str, int]:  # type: ignore[override]
        raise RuntimeError("not to be seen")


def test_an_object_that_hides_its_attributes_has_none() -> None:
    assert own_attributes(HostileSecrets()) == own_attributes(1) == {}


def aliases_of(source: str) -> dict[str, int]:
    found = masked_source(source).aliases
    return {".".join([v.name, *(str(key) for _, key in v.steps)]): how for v, how in found}


def test_only_variables_of_outside_are_passed_on() -> None:
    assert aliases_of("lambda x: send(password=VALUE)") == {"VALUE": SURE}
    assert aliases_of("lambda VALUE: send(password=VALUE)") == {}
    assert aliases_of("def f(x):\n    VALUE = str(x)\n    send(password=VALUE)") == {}
    assert aliases_of("lambda x: [send(password=v) for v in x]") == {}
    assert aliases_of("lambda x: [send(password=v) for v in VALUES]") == {"VALUES": SURE}
    walrus = "def f(x):\n    [y for y in x if (v := VALUE)]\n    send(password=v)"
    assert aliases_of(walrus) == {"VALUE": SURE}
    inner = "def f(x):\n    def g(VALUE):\n        return VALUE\n    send(password=VALUE)"
    assert aliases_of(inner) == {"VALUE": SURE}
    declared = "def f(x):\n    global VALUE\n    VALUE = x\n    send(password=VALUE)"
    assert aliases_of(declared) == {"VALUE": SURE}
    around = "def f(x):\n    v = VALUE\n    def g():\n        send(password=v)\n    return g"
    assert aliases_of(around) == {"VALUE": SURE}
    itself = "def f(x):\n    v = w = VALUE\n    v = w + v\n    w = v\n    send(password=w)"
    assert aliases_of(itself) == {"VALUE": SURE}


def test_variables_are_found_in_what_is_passed_on() -> None:
    assert aliases_of("lambda x: send(auth=('user', VALUE))") == {"VALUE": SURE}
    assert aliases_of("lambda x: send(password=C['v'][0].w.strip())") == {"C.v.0.w": SURE}
    assert aliases_of("lambda x: send(password=C.get('v') or D)") == {"C.v": SURE, "D": SURE}
    assert aliases_of("lambda x: send(password=open(PATH).read())") == {}
    # What goes by no more than a key or a token is mostly the name of a column.
    assert aliases_of("lambda x: g(key=COLUMN)") == {"COLUMN": strength_of_name("tokens")}


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "DB_PASSWORD", "value": "hunter2"}',
        "{'Key': 'DB_PASSWORD',\n 'Value': 'hunter2'}",
        "- name: DB_PASSWORD\n  value: hunter2\n",
        '"{\\"name\\": \\"DB_PASSWORD\\", \\"value\\": \\"hunter2\\"}"',
    ],
)
def test_a_value_beside_the_name_of_a_secret_is_found_in_a_text(text: str) -> None:
    assert "hunter2" not in Mask().text(text)


def test_other_values_beside_names_stay() -> None:
    for text in ('{"name": "token_id", "value": "shown-value"}', "name: size\nvalue: 32x"):
        assert Mask().text(text) == text


@pytest.mark.parametrize("login", ["dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA", "YTo-Pj4_Pz8_"])
def test_a_basic_login_is_found_alone(login: str) -> None:
    for text in (f"Basic {login}", f"BASIC {login}", f"basic  {login}"):
        assert login.rstrip("=") not in Mask().text(text)
        assert login.rstrip("=") not in masked_source(f"lambda x: {text!r}").text
    assert Mask().text("Basic Training2012") == "Basic Training2012"


def test_a_source_that_is_nested_too_deeply_shows_no_secret() -> None:
    assert "hunter21" not in masked_source("'Bearer ' + 'hunter21'" + " + x" * 900).text


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


_KEY = "Zq81hsAbcGhT55sk29ab"


@pytest.mark.parametrize(
    "source",
    [
        f"def f(x): return Client({_KEY!r})(x)",
        f"def f(x): return clients.Client({_KEY!r}, 3)(x)",
        f"def f(x): return x if name(x) == {_KEY!r} else 0",
        f"def f(x): return {_KEY!r} != x",
        f"def f(x): return name(x) == {_KEY.encode()!r}",
        f"def f(x):\n    '''Call it with {_KEY}.'''\n    return x",
        f"def f(x):\n    class A:\n        '''{_KEY}'''\n    return A()",
        "def f(x):\n    LOGIN = ('bob', 'FoggyCat79218')\n    return connect(*LOGIN)",
        "def f(x): return connect(login=['bob', 'FoggyCat79218'])",
    ],
)
def test_a_literal_that_looks_like_a_key_is_hidden(source: str) -> None:
    shown = masked_source(source).text
    assert _KEY not in shown
    assert "FoggyCat" not in shown
    assert "<secret sha256:" in shown


@pytest.mark.parametrize(
    "text",
    [
        "9e107d9d372bb6826bd81d3542a419d6",  # a digest, which files are compared with
        "123e4567-e89b-12d3-a456-426614174000",
        "ImageNetTrain2012",
        "AverageMeterOfAccuracy",
        "efficientnet_b0_224x224",
        "abcdefghijklmnopqrstuvwxyz",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    ],
)
def test_digests_and_names_stay_readable(text: str) -> None:
    for source in (f"def f(x): return x == {text!r}", f"def f(x): return Model({text!r})(x)"):
        assert masked_source(source).text == source


def test_the_texts_in_a_tuple_of_a_login_are_hidden() -> None:
    shown = Mask().value(("bob", "FoggyCat79218"), strength_of_name("LOGIN"))
    assert shown == ("bob", placeholder("FoggyCat79218"))
