"""What functions themselves write counts by its content, and is left out of ``fixed``."""

# ruff: noqa: E501 - small programs are compared by eye more easily on one line each

from __future__ import annotations

import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from keepset.core.fingerprint import Facts, fingerprint_of_value, fingerprints_of_values

Load = Callable[..., ModuleType]

# Programs whose `f` writes what it uses.
OWN = {
    "global": "n = 0\ndef f(x):\n    global n\n    n += 1\n    return n",
    "global that is not there yet": "def f(x):\n    global model\n    try: model\n    except NameError: model = [x]\n    return model",
    "global of another module": "import other\ndef f(x):\n    other.N += 1\n    return other.N",
    "global that a helper assigns": "n = 0\ndef up():\n    global n\n    n += 1\ndef f(x):\n    up()\n    return n",
    "captured": "def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n += 1\n        return n\n    return f\nf = make()",
    "captured in a nested function": "def make():\n    n = 0\n    def f(x):\n        def up():\n            nonlocal n\n            n += 1\n        up()\n        return n\n    return f\nf = make()",
    "memo": "M = {}\ndef f(x):\n    if x not in M: M[x] = x * 2\n    return M[x]",
    "memo of a closure": "def make():\n    memo = {}\n    def f(x):\n        memo[x] = x\n        return memo[x]\n    return f\nf = make()",
    "memo of a decorator": "import functools\ndef cached(g):\n    memo = {}\n    @functools.wraps(g)\n    def w(x):\n        if x not in memo: memo[x] = g(x)\n        return memo[x]\n    return w\n@cached\ndef f(x): return x",
    "default argument": "def f(x, memo={}):\n    memo[x] = 1\n    return memo",
    "keyword default": "def f(x, *, memo={}):\n    memo[x] = 1\n    return memo",
    "deleted item": "M = {1: 1, 3: 3}\ndef f(x):\n    del M[x]\n    return M",
    "augmented item": "M = {3: 0}\ndef f(x):\n    M[x] += 1\n    return M",
    "setdefault": "VOCAB = {}\ndef f(x): return VOCAB.setdefault(x, len(VOCAB))",
    "append": "SEEN = []\ndef f(x):\n    SEEN.append(x)\n    return len(SEEN)",
    "add": "SEEN = set()\ndef f(x):\n    SEEN.add(x)\n    return len(SEEN)",
    "method as a value": "SEEN = set()\ndef f(x):\n    list(map(SEEN.add, [x]))\n    return len(SEEN)",
    "method under a name": "SEEN = []\ndef f(x):\n    put = SEEN.append\n    put(x)\n    return SEEN",
    "unbound method": "SEEN = []\ndef f(x):\n    list.append(SEEN, x)\n    return SEEN",
    "list +=": "SEEN = []\ndef f(x):\n    global SEEN\n    SEEN += [x]\n    return SEEN",
    "alias +=": "SEEN = []\ndef f(x):\n    s = SEEN\n    s += [x]\n    return s",
    "deque": "import collections\nQ = collections.deque(maxlen=3)\ndef f(x):\n    Q.appendleft(x)\n    return list(Q)",
    "Counter": "import collections\nC = collections.Counter()\ndef f(x):\n    C[x] += 1\n    return C[x]",
    "Counter.update": "import collections\nC = collections.Counter()\ndef f(x):\n    C.update([x])\n    return C[x]",
    "defaultdict that is read": "import collections\nD = collections.defaultdict(int)\ndef f(x): return D[x]",
    "defaultdict of lists": "import collections\nD = collections.defaultdict(list)\ndef f(x):\n    D[x].append(x)\n    return D",
    "OrderedDict": "import collections\nD = collections.OrderedDict(a=1, b=2)\ndef f(x):\n    D.move_to_end('a')\n    return D",
    "bytearray": "B = bytearray(4)\ndef f(x):\n    B[0] = x\n    return bytes(B)",
    "alias of a memo": "M = {}\ndef f(x):\n    m = M\n    m[x] = 1\n    return m",
    "alias in a branch": "M, N = {}, {}\ndef f(x):\n    m = M if x else N\n    m[x] = 1\n    return m",
    "one of two in a loop": "M, N = {}, {}\ndef f(x):\n    for m in (M, N): m[x] = 1\n    return M",
    "inner dict": "M = {'a': {}}\ndef f(x):\n    M['a'][x] = 1\n    return M",
    "inner dict by get": "M = {'a': {}}\ndef f(x):\n    M.get('a')[x] = 1\n    return M",
    "values of a dict": "M = {'a': []}\ndef f(x):\n    for v in M.values(): v.append(x)\n    return M",
    "items of a dict": "M = {'a': []}\ndef f(x):\n    for k, v in M.items(): v.append(x)\n    return M",
    "members of a list": "class C:\n    n = 0\nM = [C(), C()]\ndef f(x):\n    for i, m in enumerate(M): m.n = x\n    return M",
    "attribute": "class C: pass\nc = C()\nc.n = 0\ndef f(x):\n    c.n += 1\n    return c.n",
    "attribute that is not there yet": "class C: pass\nc = C()\ndef f(x):\n    c.n = x\n    return c.n",
    "attribute of an attribute": "class C: pass\nc = C()\nc.a = C()\nc.a.b = 0\ndef f(x):\n    c.a.b = x\n    return c.a.b",
    "slot": "class C:\n    __slots__ = ('n',)\nc = C()\nc.n = 0\ndef f(x):\n    c.n += 1\n    return c.n",
    "setattr": "class C: pass\nc = C()\ndef f(x):\n    setattr(c, 'n', x)\n    return c.n",
    "object.__setattr__": "class C: pass\nc = C()\ndef f(x):\n    object.__setattr__(c, 'n', x)\n    return c.n",
    "__dict__": "class C: pass\nc = C()\ndef f(x):\n    c.__dict__['n'] = x\n    return c.n",
    "vars": "class C: pass\nc = C()\ndef f(x):\n    vars(c)['n'] = x\n    return c.n",
    "vars updated": "class C: pass\nc = C()\ndef f(x):\n    vars(c).update(n=x)\n    return c.n",
    "globals": "n = 0\ndef f(x):\n    globals()['n'] = x\n    return n",
    "lazy member": "class C:\n    def __init__(self): self._m = None\n    def __call__(self, x):\n        if self._m is None: self._m = [1]\n        return self._m\nf = C()",
    "lazy member by hasattr": "class C:\n    def go(self, x):\n        if not hasattr(self, '_m'): self._m = [1]\n        return self._m\nf = C().go",
    "lazy member by property": "class C:\n    _m = None\n    @property\n    def m(self):\n        if self._m is None: self._m = [1]\n        return self._m\n    def __call__(self, x): return self.m\nf = C()",
    "lazy member of a captured object": "class C:\n    _m = None\n    def go(self, x):\n        self._m = self._m or [1]\n        return self._m\nc = C()\ndef f(x): return c.go(x)",
    "cache of an object": "class C:\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        self.cache[x] = x\n        return x\nf = C()",
    "cache by a local name": "class C:\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        cache = self.cache\n        cache[x] = x\n        return x\nf = C()",
    "cache of a subclass": "class B:\n    def keep(self, x): self.cache[x] = x\nclass C(B):\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        super().keep(x)\n        return x\nf = C()",
    "cache by a property": "class C:\n    def __init__(self): self._c = {}\n    @property\n    def c(self): return self._c\n    def __call__(self, x):\n        self.c[x] = x\n        return x\nf = C()",
    "dict of one's own": "class V(dict):\n    def __missing__(self, k):\n        self[k] = len(self)\n        return self[k]\nv = V()\ndef f(x): return v[x]",
    "__setitem__ of one's own": "class V:\n    def __init__(self): self.d = {}\n    def __setitem__(self, k, w): self.d[k] = w\nv = V()\ndef f(x):\n    v[x] = 1\n    return v.d",
    "state of one's own": "class C:\n    def __init__(self): self.n = 0\n    def __getstate__(self): return (self.n,)\n    def __call__(self, x):\n        self.n += 1\n        return self.n\nf = C()",
    "data class": "import dataclasses\n@dataclasses.dataclass\nclass C:\n    n: int = 0\n    def __call__(self, x):\n        self.n += 1\n        return self.n\nf = C()",
    "iterator of one's own": "class C:\n    n = 0\n    def __iter__(self): return self\n    def __next__(self):\n        self.n += 1\n        return self.n\nc = C()\ndef f(x): return next(c)",
    "function attribute": "def f(x):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return f.calls",
    "class attribute": "class C:\n    n = 0\ndef f(x):\n    C.n += 1\n    return C.n",
    "class attribute by type(self)": "class C:\n    n = 0\n    def __call__(self, x):\n        type(self).n += 1\n        return self.n\nf = C()",
    "class attribute by cls": "class C:\n    n = 0\n    @classmethod\n    def up(cls): cls.n += 1\ndef f(x):\n    C.up()\n    return C.n",
    "class cache": "class C:\n    cache = {}\n    def __call__(self, x):\n        self.cache[x] = 1\n        return self.cache\nf = C()",
    "helper that writes its argument": "M = {}\ndef put(d, k): d[k] = 1\ndef f(x):\n    put(M, x)\n    return M",
    "helper of a helper": "M = {}\ndef put(d, k): d[k] = 1\ndef store(k, into): put(into, k)\ndef f(x):\n    store(x, into=M)\n    return M",
    "nested helper": "M = {}\ndef f(x):\n    def put(d): d[x] = 1\n    put(M)\n    return M",
    "helper that returns it": "M = {}\ndef memo(): return M\ndef f(x):\n    memo()[x] = 1\n    return M",
    "helper in a method": "def put(d, k): d[k] = 1\nclass C:\n    def __init__(self): self.m = {}\n    def __call__(self, x):\n        put(self.m, x)\n        return x\nf = C()",
    "partial": "import functools\ndef put(d, x):\n    d[x] = 1\n    return x\nf = functools.partial(put, {})",
    "partial by keyword": "import functools\ndef put(x, d):\n    d[x] = 1\n    return x\nf = functools.partial(put, d={})",
    "heapq": "import heapq\nH = []\ndef f(x):\n    heapq.heappush(H, x)\n    return H[0]",
    "bisect": "from bisect import insort\nH = []\ndef f(x):\n    insort(H, x)\n    return H[0]",
    "bisect imported inside": "import bisect\nH = []\ndef f(x):\n    from bisect import insort as put\n    put(H, x)\n    return H[0]",
    "shuffle": "import random\nL = list(range(50))\ndef f(x):\n    random.shuffle(L)\n    return L[0]",
    "np shuffle": "import numpy as np\nL = np.arange(50)\ndef f(x):\n    np.random.shuffle(L)\n    return L[0]",
    "array item": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    A[x] = 1\n    return A.sum()",
    "array +=": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    a = A\n    a += 1\n    return a.sum()",
    "row of an array": "import numpy as np\nA = np.zeros((9, 9))\ndef f(x):\n    row = A[0]\n    row += 1\n    return A.sum()",
    "rows of an array": "import numpy as np\nA = np.zeros((9, 9))\ndef f(x):\n    for row in A: row[:] = 1\n    return A.sum()",
    "view of an array": "import numpy as np\nA = np.zeros((9, 9))\ndef f(x):\n    A.reshape(-1)[0] += 1\n    return A.sum()",
    "two views of an array": "import numpy as np\nB = np.zeros((9, 9))\nA, C = B[:3], B[1:]\ndef f(x):\n    A[:] += 1\n    return A.sum() + C.sum()",
    "fill": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    A.fill(x)\n    return A.sum()",
    "ufunc.at": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    np.add.at(A, [x], 1)\n    return A.sum()",
    "out": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    np.add(A, 1, out=A)\n    return A.sum()",
    "copyto": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    np.copyto(A, x)\n    return A.sum()",
    "generator": "import numpy as np\nR = np.random.default_rng(0)\ndef f(x): return R.random()",
    "generator in a helper": "import numpy as np\nR = np.random.default_rng(0)\ndef draw(r): return r.normal()\ndef f(x): return draw(r=R)",
    "generator of an object": "import numpy as np\nclass C:\n    def __init__(self): self.rng = np.random.RandomState(0)\n    def __call__(self, x): return self.rng.rand()\nf = C()",
    "Random": "import random\nR = random.Random(0)\ndef f(x): return R.choice([1, 2, 3])",
    "generator that a library is given": "import numpy as np\nR = np.random.default_rng(0)\nclass P: pass\ndef f(x): return np.random.Generator.random(R)",
    "generator function": "M = {}\ndef f(x):\n    M[x] = 1\n    return list(g(x))\ndef g(x): yield M",
    "in a comprehension": "M = {}\ndef f(x): return [M.setdefault(y, y) for y in [x]]",
    "in a lambda": "M = {}\nf = lambda x: M.update({x: 1}) or M",
    "walrus": "M = {}\ndef f(x):\n    if (m := M) is not None: m[x] = 1\n    return M",
    "with": "import contextlib\nM = {}\ndef f(x):\n    with contextlib.suppress(KeyError): M[x] = 1\n    return M",
    "unpacked": "PAIR = ({}, 1)\ndef f(x):\n    m, _ = PAIR\n    m[x] = 1\n    return PAIR",
    "decorated method": "import functools\ndef d(g):\n    @functools.wraps(g)\n    def w(self, x): return g(self, x)\n    return w\nclass C:\n    n = 0\n    @d\n    def __call__(self, x):\n        self.n += 1\n        return self.n\nf = C()",
}


def facts(function: Any) -> Facts:
    return fingerprint_of_value(function, name="map(f)")


@pytest.fixture
def other(load: Load) -> None:
    load("N = 1", "other")


@pytest.mark.usefixtures("other")
@pytest.mark.parametrize("source", OWN.values(), ids=OWN)
def test_what_a_function_writes_counts_and_is_not_fixed(load: Load, source: str) -> None:
    f = load(source).f
    before = facts(f)
    f(3)
    after = facts(f)
    assert after.digest != before.digest, "other content is another fingerprint"
    assert after.fixed == before.fixed
    assert after.firm == before.firm


# Programs whose `f` does not write `change`s target: `change()` is the consumer's loop.
OUTSIDE = {
    "array": "import numpy as np\nA = np.zeros(9)\ndef f(x): return A + x\ndef change(): A[0] += 1",
    "element": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    x[0] = 1\n    x += A\n    return x\ndef change(): A[0] += 1",
    "copy": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    a = A.copy()\n    a[0] = 1\n    return a\ndef change(): A[0] += 1",
    "fresh by arithmetic": "import numpy as np\nA = np.zeros(9)\ndef f(x):\n    a = A\n    a = a - x\n    a /= 2\n    a[0] = 1\n    return a\ndef change(): A[0] += 1",
    "picked rows": "import numpy as np\nA = np.zeros((9, 2))\ndef f(x):\n    rows = A[x]\n    rows -= 1\n    return rows\ndef change(): A[0] += 1",
    "fresh list": "L = [3, 1, 2]\ndef f(x):\n    l = sorted(L)\n    l.append(x)\n    return l\ndef change(): L.append(1)",
    "list of a list": "L = [3, 1, 2]\ndef f(x):\n    l = list(L)\n    l.sort()\n    m = L[:]\n    m.append(x)\n    return l, m\ndef change(): L.append(1)",
    "dict of a dict": "D = {}\ndef f(x):\n    d = dict(D)\n    d[x] = 1\n    e = {**D}\n    e[x] = 1\n    return d\ndef change(): D[1] = 2",
    "helper that writes the element": "import numpy as np\nA = np.zeros(9)\ndef put(a, v): a[0] = v\ndef f(x):\n    put(x, A)\n    return x\ndef change(): A[0] += 1",
    "shadowed": "M = {}\ndef f(x):\n    def g(M): M[x] = 1\n    g({})\n    return M\ndef change(): M[1] = 2",
    "local of the same name": "M = {}\ndef g(): return M\ndef f(x):\n    M = {}\n    M[x] = 1\n    return g()\ndef change(): M[1] = 2",
    "other attribute": "class C: pass\nc = C()\nc.n = c.m = 0\ndef f(x):\n    c.n += 1\n    return c.m\ndef change(): c.m += 1",
    "other object": "class C:\n    n = 0\na, b = C(), C()\ndef f(x):\n    a.n += 1\n    return b.n\ndef change(): b.n += 1",
    "setter that only the loop calls": "class C:\n    def __init__(self): self.scale = 1\n    def set_scale(self, s): self.scale = s\n    def __call__(self, x): return x * self.scale\nf = C()\ndef change(): f.set_scale(5)",
    "what __init__ sets": "class C:\n    def __init__(self): self.scale = 1\n    def __call__(self, x): return x * self.scale\nf = C()\ndef change(): f.scale = 5",
    "what a fresh object gets": "class C:\n    n = 0\nc = C()\ndef f(x):\n    d = C()\n    d.n = 5\n    return c.n\ndef change(): c.n = 7",
    "item that only the loop sets": "class V:\n    def __init__(self): self.d = {}\n    def __setitem__(self, k, w): self.d[k] = w\n    def __getitem__(self, k): return self.d.get(k)\nv = V()\ndef f(x): return v[x]\ndef change(): v[1] = 2",
    "global that another function assigns": "n = 0\ndef f(x): return n\ndef change():\n    global n\n    n += 1",
    "other attribute of a dict of one's own": "class V(dict):\n    scale = 1\n    def __missing__(self, k):\n        self[k] = len(self)\n        return self[k]\nv = V()\nv.scale = 2\ndef f(x): return v[x] * v.scale\ndef change(): v.scale = 3",
    "random state of a library": "import numpy as np\nA = np.arange(5)\ndef f(x): return np.random.permutation(A)\ndef change(): A[0] = 7",
    "read of a dict": "D = {3: 1}\ndef f(x): return D[x], D.get(x), D.items()\ndef change(): D[3] = 2",
}


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
def test_what_others_write_is_fixed(load: Load, source: str) -> None:
    job = load(source)
    before = facts(job.f)
    job.change()
    after = facts(job.f)
    assert after.digest != before.digest
    assert after.fixed != before.fixed


def test_a_memo_that_contains_the_function_is_no_change(load: Load) -> None:
    job = load("M = {}\ndef f(x):\n    M[x] = f\n    return M")
    before = facts(job.f)
    job.f(1)
    assert facts(job.f).fixed == before.fixed


def test_what_one_stage_writes_is_own_state_of_another(load: Load) -> None:
    job = load("M = {}\ndef f(x):\n    M[x] = 1\n    return x\ndef g(x): return M")
    alone = facts(job.g)
    [_, before] = fingerprints_of_values([("map(f)", job.f), ("map(g)", job.g)])
    assert before.digest == alone.digest
    job.f(1)
    [_, after] = fingerprints_of_values([("map(f)", job.f), ("map(g)", job.g)])
    assert after.digest != before.digest
    assert after.fixed == before.fixed
    assert facts(job.g).fixed != alone.fixed


def test_functions_without_own_state_are_fixed() -> None:
    def f(x: Any) -> Any:
        return np.sqrt(x) + len([x])

    found = facts(f)
    assert found.fixed == found.firm == found.digest


def test_state_of_library_objects_is_not_firm() -> None:
    import string

    class Model(string.Formatter):
        pass

    formatter: Any = string.Formatter()

    def f(x: Any) -> str:
        return str(formatter.format("{}", x))

    before = facts(f)
    formatter.loaded = [1, 2]
    after = facts(f)
    assert after.fixed != before.fixed
    assert after.firm == before.firm
    formatter = Model()
    assert facts(f).firm != before.firm


def test_data_of_libraries_is_firm() -> None:
    import collections

    table = collections.OrderedDict(a=1)

    def f(x: Any) -> Any:
        return table[x]

    before = facts(f)
    table["b"] = 2
    assert facts(f).firm != before.firm


def test_own_state_without_a_source_is_at_least_what_is_assigned() -> None:
    space: dict[str, Any] = {"__name__": "typed"}
    exec(textwrap.dedent("n = 0\ndef f(x):\n    global n\n    n += 1\n    return n"), space)
    before = facts(space["f"])
    space["f"](1)
    assert facts(space["f"]).digest != before.digest
    assert facts(space["f"]).fixed == before.fixed


def test_methods_of_patterns_are_followed(load: Load) -> None:
    # CPython 3.11 crashes where such a method is bound without the type that it belongs to.
    facts = fingerprint_of_value(
        load("import re\nWORD = re.compile('a+')\ndef f(x):\n    return WORD.match('aa').group()").f
    )
    assert facts.digest
