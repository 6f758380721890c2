"""What functions themselves write counts by its content, and is left out of ``fixed``."""

# ruff: noqa: E501 - small programs are compared by eye more easily on one line each

from __future__ import annotations

import argparse
import logging
import string
import types
from collections.abc import Callable
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import pytest

from keepset.core.fingerprint import (
    Facts,
    fingerprint_of_value,
    fingerprints_of_values,
    library_state,
    own_state,
    plain,
    targets,
    value,
)
from keepset.core.fingerprint.functions import effects_of_function
from keepset.errors import FingerprintError

Load = Callable[..., ModuleType]

# Programs whose `f` writes what it uses.
OWN = {
    "field of a named tuple": "import collections\nS = collections.namedtuple('S', 'seen size')([], 3)\ndef f(x):\n    S.seen.append(x)\n    return len(S.seen) * S.size",
    "item of a field of a named tuple": "from typing import NamedTuple\nclass S(NamedTuple):\n    flip: list\ns = S([0])\ndef f(x):\n    s.flip[0] ^= 1\n    return s.flip[0]",
    "generator in a field of a named tuple": "import collections\nimport numpy as np\nS = collections.namedtuple('S', 'rng')(np.random.default_rng(1))\ndef f(x): return S.rng.integers(9)",
    "attribute of a model of pydantic": "import pydantic\nclass S(pydantic.BaseModel):\n    n: int = 0\ns = S()\ndef f(x):\n    s.n += 1\n    return s.n",
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
    "counter of a class in __init__": "class R:\n    count = 0\n    def __init__(self, x):\n        self.x = x\n        type(self).count += 1\ndef f(x): return R(x).x + R.count",
    "counter of __class__ in __init__": "class R:\n    count = 0\n    def __init__(self, x): self.__class__.count += x\ndef f(x):\n    R(x)\n    return R.count",
    "text in memory": "import io\nT = io.StringIO()\ndef f(x):\n    T.write(str(x))\n    return T.getvalue()",
    "bytes in memory": "import io\nT = io.BytesIO()\ndef f(x):\n    T.write(bytes([x]))\n    return T.getvalue()",
    "print to an object": "LINES = []\nclass Sink:\n    def write(self, t): LINES.append(t)\n    def flush(self): pass\nsink = Sink()\ndef f(x):\n    print(x, file=sink)\n    return len(LINES)",
    "csv to an object": "import csv\nLINES = []\nclass Sink:\n    def write(self, t): LINES.append(t)\nsink = Sink()\ndef f(x):\n    csv.writer(sink).writerow([x])\n    return len(LINES)",
    "context variable": "import contextvars\nV = contextvars.ContextVar('v', default=0)\ndef f(x):\n    V.set(V.get() + x)\n    return V.get()",
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
    "cache of an object": "class C:\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        self.cache[x] = x\n        return self.cache[x]\nf = C()",
    "cache by a local name": "class C:\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        cache = self.cache\n        cache[x] = x\n        return x\nf = C()",
    "cache of a subclass": "class B:\n    def keep(self, x): self.cache[x] = x\nclass C(B):\n    def __init__(self): self.cache = {}\n    def __call__(self, x):\n        super().keep(x)\n        return self.cache[x]\nf = C()",
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
    "singleton": "class S:\n    _inst=None\n    @classmethod\n    def get(cls):\n        if cls._inst is None: cls._inst=cls()\n        return cls._inst\n    def __init__(self): self.n=0\n    def go(self,x):\n        self.n+=1\n        return x\ndef f(x): return S.get().go(x)",
    "private attribute": "class V:\n    def __init__(self): self.__n = 0\n    def __call__(self, x):\n        self.__n += 1\n        return x * self.__n\nf = V()",
    "serial numbers of new objects": "import itertools\nclass Box:\n    ids = itertools.count()\n    def __init__(self): self.id = next(self.ids)\ndef f(x): return Box().id",
    "how many were made": "import dataclasses\n@dataclasses.dataclass\nclass S:\n    x: int\n    def __post_init__(self): type(self).made += 1\nS.made = 0\ndef f(x): return S(x).x + S.made",
    "shuffled by a new generator": "import random\nL = [1, 2, 3]\ndef f(x):\n    random.Random(x).shuffle(L)\n    return L[0]",
    "shuffled by a new generator of numpy": "import numpy as np\nL = np.arange(9)\ndef f(x):\n    np.random.default_rng(x).shuffle(L)\n    return L[0]",
    "one of a dict of many records": "class S:\n    def __init__(self, i): self.i = i\nL = {i: S(i) for i in range(5000)}\ndef f(x):\n    L[3].i += 1\n    return L[3].i",
    "a key of a dict of many records": "class S:\n    def __init__(self, i): self.i = i\nL = {i: S(i) for i in range(5000)}\ndef f(x):\n    L[3] = S(x + 1)\n    return L[3].i",
    "given by name by many functions": "L = [[] for _ in range(30)]\ndef put(**k): add(**k)\ndef add(l, x): l.append(x)\ndef f(x):\n"
    + "".join(f"    put(l=L[{i}], x=x)\n" for i in range(30))
    + "    return len(L[0])",
    "given by many functions": "L = [[] for _ in range(30)]\ndef put(l, x): l.append(x)\ndef f(x):\n"
    + "".join(f"    put(L[{i}], x)\n" for i in range(30))
    + "    return len(L[29])",
    "one of many records": "class S:\n    def __init__(self, i): self.i = i\nL = [S(i) for i in range(5000)]\ndef f(x):\n    L[3].i += 1\n    return L[3].i",
    "any of many records": "class S:\n    def __init__(self, i): self.i = i\nL = [S(i) for i in range(5000)]\ndef f(x):\n    L[int(x)].i += 1\n    return L[int(x)].i",
    "method of many records": "class S:\n    def __init__(self, i): self.i = i\n    def up(self): self.i += 1\nL = [S(i) for i in range(5000)]\ndef f(x):\n    L[3].up()\n    return L[3].i",
    "list of each of many records": "class S:\n    def __init__(self, i): self.log = [i]\n    def up(self): self.log.append(1)\nL = [S(i) for i in range(5000)]\ndef f(x):\n    L[3].up()\n    return len(L[3].log)",
    "singleton by __new__": "class S:\n    _inst=None\n    def __new__(cls):\n        if cls._inst is None: cls._inst=super().__new__(cls)\n        return cls._inst\n    def go(self,x): return x\ndef f(x): return S().go(x)",
    "object behind a read-only mapping": "import types\nclass C: n=0\nM = types.MappingProxyType({'c': C()})\ndef f(x):\n    M['c'].n += 1\n    return M['c'].n",
    "singleton attr write": "class S:\n    _inst=None\n    @classmethod\n    def get(cls):\n        if cls._inst is None: cls._inst=cls()\n        return cls._inst\n    n=0\ndef f(x):\n    s=S.get()\n    s.n+=1\n    return s.n",
    "module lazily loaded": "_model=None\ndef model():\n    global _model\n    if _model is None: _model={'w':[1,2]}\n    return _model\ndef f(x): return model()['w'][0]+x",
    "lazy dict": "_m={}\ndef get(name):\n    if name not in _m: _m[name]=[name]\n    return _m[name]\ndef f(x):\n    get('a').append(x)\n    return len(get('a'))",
    "dataclass field default_factory": "import dataclasses\n@dataclasses.dataclass\nclass Stats:\n    counts: dict = dataclasses.field(default_factory=dict)\n    def add(self,x): self.counts[x]=self.counts.get(x,0)+1\nstats=Stats()\ndef f(x):\n    stats.add(x)\n    return x",
    "tokens via enumerate": "V={}\ndef f(x): return [V.setdefault(w,len(V)) for w in str(x)]",
    "vocab len default": "class Vocab:\n    def __init__(self): self.w2i={}; self.i2w=[]\n    def id(self,w):\n        if w not in self.w2i:\n            self.w2i[w]=len(self.i2w)\n            self.i2w.append(w)\n        return self.w2i[w]\nv=Vocab()\nf=lambda x: v.id(x)",
    "defaultdict lambda": "import collections\nV=collections.defaultdict(lambda: len(V))\ndef f(x): return V[x]",
    "defaultdict __len__": "import collections\nV=collections.defaultdict()\nV.default_factory=V.__len__\ndef f(x): return V[x]",
    "welford": "class W:\n    def __init__(self): self.n=0; self.mean=0.0\n    def __call__(self,x):\n        self.n+=1\n        d=x-self.mean\n        self.mean+=d/self.n\n        return self.mean\nf=W()",
    "running mean array inplace attr": "import numpy as np\nclass W:\n    def __init__(self): self.mean=np.zeros(3)\n    def __call__(self,x):\n        self.mean*=0.9\n        self.mean+=x\n        return self.mean.copy()\nf=W()",
    "ring buffer": "import numpy as np\nclass R:\n    def __init__(self): self.b=np.zeros(5); self.i=0\n    def __call__(self,x):\n        self.b[self.i%5]=x\n        self.i+=1\n        return self.b.sum()\nf=R()",
    "tuple assign": "class R:\n    def __init__(self): self.a,self.b=0,1\n    def __call__(self,x):\n        self.a,self.b=self.b,self.a+self.b\n        return self.a\nf=R()",
    "for target attr": "class R:\n    i=0\n    def __call__(self,x):\n        for self.i in range(3): pass\n        return self.i\nf=R()",
    "with as attr": "import contextlib\nclass R:\n    i=0\n    def __call__(self,x):\n        with contextlib.nullcontext(7) as self.i: pass\n        return self.i\nf=R()",
    "method calls method": "class R:\n    def __init__(self): self.d={}\n    def _put(self,k): self.d[k]=1\n    def __call__(self,x):\n        self._put(x)\n        return self.d[x]\nf=R()",
    "closure over obj": "class C: pass\ndef make():\n    c=C(); c.n=0\n    def f(x):\n        c.n+=1\n        return c.n\n    return f\nf=make()",
    "closure list cell": "def make():\n    n=[0]\n    def f(x):\n        n[0]+=1\n        return n[0]\n    return f\nf=make()",
    "simple namespace": "import types\nS=types.SimpleNamespace(n=0)\ndef f(x):\n    S.n+=1\n    return S.n",
    "lru + global": "import functools\nH=[]\n@functools.lru_cache\ndef g(x):\n    H.append(x)\n    return len(H)\ndef f(x): return g(x)",
    "nested def called via map": "H=[]\ndef f(x):\n    def put(y): H.append(y)\n    list(map(put,[x]))\n    return len(H)",
    "param fn": "H={}\ndef apply(fn,x): return fn(x)\ndef put(x): H[x]=1\ndef f(x): return apply(put,x), H",
    "dispatch table": "H=[]\ndef a(x): H.append(x)\nT={'a':a}\ndef f(x): return T['a'](x), len(H)",
    "staticmethod": "class C:\n    H=[]\n    @staticmethod\n    def put(x): C.H.append(x)\ndef f(x): return C.put(x)",
    "inherited classmethod": "class B:\n    H={}\n    @classmethod\n    def put(cls,x): cls.H[x]=1\nclass C(B): pass\ndef f(x): return C.put(x)",
    "compose object": "class A:\n    def __init__(self): self.n=0\n    def __call__(self,x):\n        self.n+=1\n        return self.n\nclass Compose:\n    def __init__(self,ts): self.ts=ts\n    def __call__(self,x):\n        for t in self.ts: x=t(x)\n        return x\nf=Compose([A(),A()])",
    "compose write others attr": "class A: n=0\nclass P:\n    def __init__(self,a): self.a=a\n    def __call__(self,x):\n        self.a.n+=x\n        return x\nf=P(A())",
    "try/except KeyError memo": "M={}\ndef f(x):\n    try:\n        return M[x]\n    except KeyError:\n        r=M[x]=x*2\n        return r",
    "memo chained assign": "M={}\ndef f(x):\n    y=M[x]=[x]\n    y.append(1)\n    return M[x]",
    "global dict union |=": "M={}\ndef f(x):\n    global M\n    M |= {x:1}\n    return M",
    "global rebind": "M=()\ndef f(x):\n    global M\n    M=M+(x,)\n    return M",
    "walrus global": "M=0\ndef f(x):\n    global M\n    return (M:=M+x)",
    "generator method next": "class G:\n    def __init__(self): self.i=0\n    def __iter__(self):\n        while self.i<100:\n            self.i+=1\n            yield self.i\ng=G()\ndef f(x): return next(iter(g))",
    "operator setitem": "import operator\nM={}\ndef f(x):\n    operator.setitem(M,x,1)\n    return x",
    "collections ChainMap": "import collections\nM=collections.ChainMap({},{'a':1})\ndef f(x):\n    M[x]=1\n    return M[x]",
    "array module": "import array\nA=array.array('i',[0,0])\ndef f(x):\n    A[0]=x\n    return A[0]",
    "np slice alias": "import numpy as np\nH=np.zeros(10,int)\ndef f(x):\n    h=H[2:5]\n    h[:]=x\n    return H",
    "np ravel": "import numpy as np\nH=np.zeros((2,5),int)\ndef f(x):\n    h=np.ravel(H)\n    h[0]=x\n    return H",
    "structured": "import numpy as np\nH=np.zeros(3,[('a','i4')])\ndef f(x):\n    H['a'][0]=x\n    return H",
    "kwargs fn": "def put(**kw): kw['m'][kw['x']]=1\nM={}\ndef f(x):\n    put(m=M,x=x)\n    return x",
    "args fn": "def put(*a): a[0][a[1]]=1\nM={}\ndef f(x):\n    put(M,x)\n    return x",
    "star call": "def put(m,x): m[x]=1\nM={}\ndef f(x):\n    put(*(M,x))\n    return x",
    "decorator with self": "def count(g):\n    def w(self,x):\n        self.n+=1\n        return g(self,x)\n    return w\nclass C:\n    n=0\n    @count\n    def __call__(self,x): return x\nf=C()",
    "decorator args": "def count(g):\n    def w(*a):\n        w.n=getattr(w,'n',0)+1\n        return g(*a)\n    return w\n@count\ndef f(x): return x",
    "class as a decorator": "class count:\n    def __init__(self,g): self.g=g; self.n=0\n    def __call__(self,x):\n        self.n+=1\n        return self.g(x)+self.n\n@count\ndef f(x): return x",
    "property setter": "class C:\n    def __init__(self): self._v=0\n    @property\n    def v(self): return self._v\n    @v.setter\n    def v(self,x): self._v=x\nc=C()\ndef f(x):\n    c.v=x\n    return c.v",
    "descriptor": "class D:\n    def __get__(self,o,t): return o.__dict__.get('z',0)\n    def __set__(self,o,v): o.__dict__['z']=v\nclass C: v=D()\nc=C()\ndef f(x):\n    c.v=x\n    return c.v",
    "__getattr__ lazy": "class C:\n    def __getattr__(self,n):\n        if n!='model': raise AttributeError(n)\n        self.model=[1]\n        return self.model\nc=C()\ndef f(x): return c.model",
    "dict in class attr of instance": "class C:\n    def __init__(self): self.d={'a':{}}\n    def __call__(self,x):\n        self.d['a'].setdefault(x,[]).append(x)\n        return x\nf=C()",
    "weak memo": "import collections\nclass LRU(collections.OrderedDict):\n    def get1(self,k):\n        if k in self: self.move_to_end(k)\n        else: self[k]=k\n        return k\nL=LRU()\ndef f(x): return L.get1(x)",
    "UserDict": "import collections\nclass V(collections.UserDict): pass\nv=V()\ndef f(x):\n    v[x]=1\n    return v[x]",
    "UserDict plain": "import collections\nv=collections.UserDict()\ndef f(x):\n    v[x]=1\n    return v[x]",
    "pandas": "import pandas as pd\nd=pd.DataFrame({'a':[1,2]})\ndef f(x):\n    d.loc[0,'a']=x\n    return d",
    "default of a lambda": "M={}\nf=lambda x,m=M: m.update({x:1})",
    "comprehension side effect set": "S=set()\ndef f(x): return [y for y in [x] if not (y in S or S.add(y))]",
    "match": "M={}\ndef f(x):\n    match x:\n        case int(): M[x]=1\n    return M",
    "while loop": "Q=[1,2,3,4,5]\ndef f(x):\n    while len(Q)>2: Q.pop()\n    return Q",
    "del slice": "Q=[1,2,3]\ndef f(x):\n    del Q[:1]\n    return Q",
    "next of iterator obj attr": "class It:\n    def __init__(s): s.i=0\n    def __next__(s):\n        s.i+=1\n        return s.i\n    def __iter__(s): return s\nclass C:\n    def __init__(s): s.it=It()\n    def __call__(s,x): return next(s.it)\nf=C()",
    "counter of itertools": "import itertools\nC = itertools.count()\ndef f(x): return next(C)",
    "cycle of itertools": "import itertools\nclass R:\n    def __init__(self): self.c = itertools.cycle([1, 2, 3])\n    def __call__(self, x): return next(self.c)\nf = R()",
    "counter as a default": "import itertools\ndef f(x, c=itertools.count()): return next(c, None)",
    "method that a global holds": "L = []\nput = L.append\ndef f(x):\n    put(x)\n    return x",
    "method that a cell holds": "def make():\n    put = [].append\n    def f(x): return put(x)\n    return f\nf = make()",
    "method that a default holds": "def f(x, put=set().add):\n    put(x)\n    return x",
    "method in a list": "L = []\nPUTS = [L.append]\ndef f(x):\n    for put in PUTS: put(x)\n    return L",
    "method that a library calls": "L = []\nput = L.append\ndef f(x): return list(map(put, [x]))",
    "deleted item of a list": "L = [1, 2, 3]\ndef f(x):\n    del L[0]\n    return L",
    "deleted last item": "L = [1, 2, 3]\ndef f(x):\n    del L[-1]\n    return len(L)",
    "deleted item of a list of an object": "class R:\n    def __init__(self): self.q = [1, 2, 3]\n    def __call__(self, x):\n        del self.q[0]\n        return self.q\nf = R()",
    "deleted items": "L, M = [1, 2], [3, 4]\ndef f(x):\n    del (L[0], M[1])\n    return L, M",
    "hash": "import hashlib\nH = hashlib.sha256()\ndef f(x):\n    H.update(bytes([x]))\n    return H.hexdigest()",
    "hash by blake2b": "import hashlib\nH = hashlib.blake2b()\ndef f(x):\n    H.update(bytes([x]))\n    return H.hexdigest()",
}


# An object of `L` that is taken in another way is written to.
TAKEN = {
    "list comprehension": "[r for r in L if r.n < 9][0].n += 1",
    "list comprehension by a name": "rows = [r for r in L]\n    rows[0].n += 1",
    "dict comprehension": "{i: r for i, r in enumerate(L)}[0].n += 1",
    "set comprehension": "for r in {r for r in L}: r.n += 1",
    "generator comprehension": "for r in (r for r in L): r.n += 1",
    "pairs of a comprehension": "for i, r in [(i, r) for i, r in enumerate(L)]: r.n += 1",
    "next of a generator": "next(r for r in L if r.n < 9).n += 1",
    "default of next": "next(iter([]), L[0]).n += 1",
    "min": "min(L, key=id).n += 1",
    "max": "best = max(L, key=lambda r: r.n)\n    best.n += 1",
    "min of two": "min(L[0], L[1], key=id).n += 1",
    "sorted": "sorted(L, key=id)[0].n += 1",
    "islice": "for r in itertools.islice(L, 1): r.n += 1",
    "chain": "next(itertools.chain(L, [])).n += 1",
    "cycle": "next(itertools.cycle(L)).n += 1",
    "combinations": "for a, b in itertools.combinations(L, 2): a.n += 1",
    "itemgetter": "operator.itemgetter(0)(L).n += 1",
    "itemgetter outside": "first(L).n += 1",
    "getitem": "operator.getitem(L, 0).n += 1",
    "copy.copy": "copy.copy(L)[0].n += 1",
    "copy method": "L.copy()[0].n += 1",
    "pop of a copy": "list(L).pop().n += 1",
    "match a sequence": "match L:\n        case [a, b]: a.n += 1",
    "match the rest": "match L:\n        case [a, *rest]: rest[0].n += 1",
    "match a mapping": "match {'a': L[0]}:\n        case {'a': r}: r.n += 1",
    "match an attribute": "match B:\n        case Box(one=r): r.n += 1",
    "match as": "match L[0]:\n        case C() as r: r.n += 1",
    "map of a lambda": "for r in map(lambda r: r, L): r.n += 1",
    "map of a function": "for r in map(same, L): r.n += 1",
    "map of a function that writes": "list(map(up, L))",
    "map of a lambda that writes": "list(map(lambda r: setattr(r, 'n', r.n + 1), L))",
    "key that writes": "sorted(L, key=up)",
    "reduce": "functools.reduce(lambda a, b: b, L).n += 1",
    "filter": "for r in filter(None, L): r.n += 1",
    "filter of a lambda": "next(filter(lambda r: r.n < 9, L)).n += 1",
    "reversed": "for r in reversed(L): r.n += 1",
    "enumerate": "for pair in enumerate(L): pair[1].n += 1",
    "list of enumerate": "list(enumerate(L))[0][1].n += 1",
    "zip": "for pair in zip(L, L): pair[0].n += 1",
    "enumerate of zip": "for i, (a, b) in enumerate(zip(L, [1, 2])): a.n += 1",
    "items": "sorted({'a': L[0]}.items())[0][1].n += 1",
    "largest of the items": "max(D.items(), key=str)[1].n += 1",
    "list display": "[L[0], 1][0].n += 1",
    "dict display": "{'a': L[0]}['a'].n += 1",
    "spread": "[*L][0].n += 1",
    "dict spread": "{**D}['a'].n += 1",
    "sum of lists": "(L + [1])[0].n += 1",
    "starred target": "a, *rest = L\n    rest[0].n += 1",
    "behind a starred target": "*_, last = L\n    last.n += 1",
    "helper that returns a pair": "r, one = pair()\n    r.n += one",
    "generator of one's own": "for r in each(): r.n += 1",
    "yield from": "next(every()).n += 1",
    "iterable of one's own": "for r in B: r.n += 1",
    "heapq.nsmallest": "heapq.nsmallest(1, L, key=id)[0].n += 1",
    "deque": "collections.deque(L)[0].n += 1",
}
_TAKING = """
import collections, copy, functools, heapq, itertools, operator
class C:
    n = 0
L = [C(), C()]
D = {"a": L[0]}
class Box:
    def __init__(self, one): self.one, self.all = one, [one]
    def __iter__(self): return iter(self.all)
B = Box(L[0])
first = operator.itemgetter(0)
def same(r): return r
def up(r):
    r.n += 1
    return r.n
def pair(): return L[0], 1
def each():
    for r in L: yield r
def every(): yield from L
"""

# Programs whose `f` changes what a memo with arguments holds.
MEMO = {
    "+=": "l = h('a')\n    l += [1]",
    "+= of an item": "h('a')[0] += 1",
    "item": "h('a')[0] = x",
    "deleted item": "del h('a')[0]",
    "method": "h('a').append(x)",
    "alias": "l = m = h('a')\n    m.append(x)",
    "closure": "l = h('a')\n    def g():\n        nonlocal l\n        l += [1]\n    g()",
    "lambda": "(lambda l: l.append(x))(h('a'))",
    "helper": "put(h('a'))",
    "helper by a keyword": "put(l=h('a'))",
    "in a display": "for l in [h('a'), 1][:1]: l.append(x)",
    "in a comprehension": "[l.append(x) for l in map(h, 'ab')]",
    "comprehension": "[h(k) for k in 'ab'][0].append(x)",
    "item of the result": "l = h('a')[0]\n    l += 1",
    "sorted": "sorted(deep('a'))[0].append(x)",
    "next": "next(rows('a'))",
    "partial": "get().append(x)",
    "partial inside": "functools.partial(h, 'a')().append(x)",
    "wrapper": "wrapped('a').append(x)",
    "method of a class": "l = Held.of('a')\n    l += [x]",
    "class with +=": "s = total('a')\n    s += 1",
    "closure of a memo": "counter('a')()",
    "closure of a memo over a list": "listing('a')(x)",
    "closure of a memo over an iterator": "numbers('a')()",
    "bound cache_info": "info()[0]",
    "unknown number": "n = loaded('a')\n    n += 1",
}
_MEMOS = """
import functools, itertools
@functools.cache
def h(k): return [0]
@functools.cache
def deep(k): return [[0]]
@functools.cache
def rows(k): return iter([1, 2])
@functools.lru_cache(maxsize=4)
def loaded(k): return load(k)
def load(k): return eval("1")
get = functools.partial(h, "a")
info = h.cache_info
def put(l): l.append(1)
def wrapped(k): return h(k)
class Held:
    @classmethod
    @functools.cache
    def of(cls, k): return [0]
class Sum:
    n = 0
    def __iadd__(self, other):
        self.n += other
        return self
@functools.cache
def total(k): return Sum()
@functools.cache
def counter(k):
    n = 0
    def inc():
        nonlocal n
        n += 1
        return n
    return inc
@functools.cache
def listing(k):
    found = []
    def put(x):
        found.append(x)
        return len(found)
    return put
@functools.cache
def numbers(k):
    count = itertools.count()
    return lambda: next(count)
@functools.cache
def size(k): return len(k) * 2 + int(k, 36)
@functools.cache
def fib(k):
    if k < 2: return k
    return fib(k - 1) + fib(k - 2)
@functools.cache
def text(k):
    total = ""
    for c in k: total += c.upper()
    return total
@functools.cache
def scaled(k):
    scale = len(k)
    def scale_it(x): return x * scale
    return scale_it
class Model:
    def __init__(self): self.w = np.zeros(3)
    def apply(self, x):
        h = self.w.copy()
        h[0] = x
        h += 1
        return h
    def listed(self, x):
        h = list(self.w)
        h[0] = x
        h.append(x)
        return h
@functools.cache
def model(k): return Model()
@functools.cache
def library(k): return pickle.loads(k)
"""
# Programs whose `f` changes nothing that is there before it is called.
PURE = {
    "number of a memo": "n = size('a')\n    n += 1",
    "number of a recursive memo": "n = fib(5)\n    n += 1",
    "text of a memo": "t = text('a')\n    t += 'b'",
    "function of a memo": "scaled('a')(x)",
    "length of what a memo holds": "n = len(h('a'))\n    n += 1",
    "copy of an attribute behind a memo": "model('a').apply(x)",
    "list of an attribute behind a memo": "model('a').listed(x)",
    "result of a method behind a memo": "y = library('a').predict(x)\n    y += 1",
    "copy of what a memo holds": "l = h('a').copy()\n    l.append(x)\n    l += [1]\n    l[0] = 2",
    "list of what a memo holds": "l = list(h('a'))\n    l.append(x)\n    del l[0]",
    "sorted list of what a memo holds": "l = sorted(h('a'))\n    l.append(x)",
    "sum of what a memo holds": "l = h('a') + [x]\n    l += [2]",
    "length": "n = len(ROWS)\n    n += 1",
    "largest number": "n = max(NUMBERS)\n    n += 1",
    "sum": "n = sum(NUMBERS)\n    n += 1",
    "sum of arrays": "n = sum(ARRAYS)\n    n += 1\n    n[0] += 1",
    "stack of arrays": "a = np.stack(ARRAYS)\n    a += 1\n    a[0] += 1",
    "array of rows": "a = np.array(ROWS)\n    a += 1\n    a[0] += 1",
    "array plus": "a = ARRAY + x\n    a += 1\n    a[0] += 1",
    "scaled array": "a = ARRAY * x\n    a[0] += 1",
    "copy of an array": "a = copy.copy(ARRAY)\n    a += 1\n    a[0] += 1",
    "deep copy": "a = copy.deepcopy(ROWS)\n    a[0][0] = 1\n    a[0].append(x)",
    "copy": "a = copy.copy(ROWS)\n    a.append(x)\n    a[0] = x\n    del a[0]",
    "copy of each": "a = [list(r) for r in ROWS]\n    a[0][0] = 1\n    a[0].append(x)",
    "map of list": "a = list(map(list, ROWS))\n    a[0][0] = 1\n    a[0].append(x)",
    "dict of lists": "d = {i: list(r) for i, r in enumerate(ROWS)}\n    d[0].append(x)",
    "list of pairs": "a = list(enumerate(ROWS))\n    a.append(x)\n    a[0] = x",
    "sorted items": "a = sorted(D.items())\n    a.append(x)\n    a[0] = x",
    "comprehension": "a = [r for r in ROWS]\n    a.append(x)\n    a[0] = x\n    del a[0]",
    "display": "a = [ROWS, NUMBERS]\n    a.append(x)\n    a[0] = x",
    "pair with an array": "n, a = pair(x)\n    n += 1",
    "zip with arrays": "for i, (n, a) in enumerate(zip([1, 2], ARRAYS)): n += 1",
    "unpacked": "first, *rest = ROWS\n    rest.append(x)\n    rest[0] = x",
    "match": "match ROWS:\n        case [a, *rest]: rest.append(x)",
    "numbers in a loop": "t = 0\n    for a, b in zip(NUMBERS, NUMBERS): t += a * b",
    "split text": "words = TEXT.split()\n    words.append(x)\n    words[0] += 'a'",
    "counter": "c = collections.Counter(NUMBERS)\n    c[1] += 1\n    c.update([2])",
    "index": "n = ROWS.index([1])\n    n += 1",
}
_TABLES = """
import collections, copy, pickle
import numpy as np
NUMBERS, ROWS, TEXT = [1, 2, 3], [[1], [2]], "a b"
ARRAY, ARRAYS, D = np.zeros((3, 3)), [np.zeros((3, 3)), np.ones((3, 3))], {"a": [1], "b": [2]}
def pair(x): return x, ARRAY
"""


# Programs whose `f` makes something that has no content when it is first called.
LAZY = {
    "file": "class R:\n    def __init__(self): self.h = None\n    def __call__(self, x):\n        if self.h is None: self.h = open(0, closefd=False)\n        return x\nf = R()",
    "file by hasattr": "class R:\n    def __call__(self, x):\n        if not hasattr(self, '_f'): self._f = open(0, closefd=False)\n        return x\nf = R()",
    "file of a captured object": "class R:\n    h = None\n    def read(self):\n        self.h = self.h or open(0, closefd=False)\n        return self.h.read()\nr = R()\ndef f(x): return r.read()",
    "file by a property": "class R:\n    _h = None\n    @property\n    def h(self):\n        if self._h is None: self._h = open(0, closefd=False)\n        return self._h\n    def __call__(self, x): return self.h.read()\nf = R()",
    "database": "import sqlite3\nclass R:\n    def __init__(self): self.db = None\n    def __call__(self, x):\n        if self.db is None: self.db = sqlite3.connect(':memory:')\n        return x\nf = R()",
    "lock": "import threading\nclass R:\n    lock = None\n    def __call__(self, x):\n        if self.lock is None: self.lock = threading.Lock()\n        return x\nf = R()",
    "global": "_h = None\ndef f(x):\n    global _h\n    if _h is None: _h = open(0, closefd=False)\n    return x",
    "global of a helper": "_h = None\ndef handle():\n    global _h\n    if _h is None: _h = open(0, closefd=False)\n    return _h\ndef f(x): return handle().read()",
    "nonlocal": "def make():\n    h = None\n    def f(x):\n        nonlocal h\n        if h is None: h = open(0, closefd=False)\n        return x\n    return f\nf = make()",
    "item": "H = {'fd': 0, 'h': None}\ndef f(x):\n    if H['h'] is None: H['h'] = open(H['fd'], closefd=False)\n    return x",
    "memo": "H = {}\ndef f(x):\n    if x not in H: H[x] = open(0, closefd=False)\n    return x",
    "list": "H = []\ndef f(x):\n    if not H: H.append(open(0, closefd=False))\n    return x",
    "generator": "class R:\n    it = None\n    def __call__(self, x):\n        if self.it is None: self.it = (i for i in range(9))\n        return next(self.it)\nf = R()",
    "inside something": "class R:\n    it = None\n    def __call__(self, x):\n        if self.it is None: self.it = [open(0, closefd=False), 1]\n        return x\nf = R()",
}


# Programs whose `f` writes items under known keys; `change()` is the consumer's loop.
KEYED = {
    "augmented": "C = {'scale': 1, 'calls': 0}\ndef f(x):\n    C['calls'] += 1\n    return x * C['scale']\ndef change(): C['scale'] = 100",
    "assigned": "C = {'scale': 1, 'last': None}\ndef f(x):\n    C['last'] = [x]\n    return C['scale']\ndef change(): C['scale'] = 100",
    "new": "C = {'scale': 1, 'b': 2}\ndef f(x):\n    C['last'] = x\n    return C['scale']\ndef change(): C['b'] = 100",
    "deleted": "C = {'a': 1, 'scale': 1, 'b': 2}\ndef f(x):\n    del C['a']\n    return C['scale']\ndef change(): C['scale'] = 100",
    "order": "C = {'a': 1, 'b': 1, 'calls': 2}\ndef f(x):\n    C['calls'] += x\n    return list(C)\ndef change(): C['a'] = C.pop('a')",
    "setdefault": "C = {'scale': 1}\ndef f(x):\n    C.setdefault('m', []).append(x)\n    return C['scale']\ndef change(): C['scale'] = 100",
    "pop": "C = {'scale': 1, 'm': 1}\ndef f(x):\n    C.pop('m', None)\n    return C['scale']\ndef change(): C['scale'] = 100",
    "update": "C = {'scale': 1}\ndef f(x):\n    C.update(m=x)\n    return C['scale']\ndef change(): C['scale'] = 100",
    "update by a dict": "C = {'scale': 1}\ndef f(x):\n    C.update({'m': x}, n=x)\n    return C['scale']\ndef change(): C['scale'] = 100",
    "added from outside": "C = {'calls': 0}\ndef f(x):\n    C['calls'] += 1\n    return len(C)\ndef change(): C['scale'] = 100",
    "of an attribute": "class R:\n    def __init__(self): self.c = {'scale': 1, 'n': 0}\n    def __call__(self, x):\n        self.c['n'] += 1\n        return self.c['scale']\nf = R()\ndef change(): f.c['scale'] = 100",
    "inside": "C = {'a': {'scale': 1, 'n': 0}}\ndef f(x):\n    C['a']['n'] += 1\n    return C\ndef change(): C['a']['scale'] = 100",
    "next to arrays": "import numpy as np\nC = {'a': np.zeros(3), 'n': 0}\ndef f(x):\n    C['n'] += 1\n    return C['a']\ndef change(): C['a'][0] = 1",
    "next to keys that are not plain": "C = {(1, 2): [1], 'n': 0}\ndef f(x):\n    C['n'] += 1\n    return C[1, 2]\ndef change(): C[1, 2].append(2)",
    "of many": "C = {i: i for i in range(101)}\ndef f(x):\n    C[7] = [x]\n    return C[8]\ndef change(): C[8] = -1",
    "of an OrderedDict": "import collections\nC = collections.OrderedDict(n=0, m=1)\ndef f(x):\n    C['n'] += 1\n    return C\ndef change(): C['m'] = 2",
    "of a Counter": "import collections\nC = collections.Counter(n=2, m=1)\ndef f(x):\n    C['n'] += 1\n    return C\ndef change(): C['m'] = 2",
    "of a list": "L = [0, 1]\ndef f(x):\n    L[0] += 1\n    return L[1]\ndef change(): L[1] = 7",
    "of a list from behind": "L = [0, 1]\ndef f(x):\n    L[-1] = [x]\n    return L[0]\ndef change(): L[0] = 7",
    "of a list that grows": "L = [0, 1]\ndef f(x):\n    L[0] += 1\n    return len(L)\ndef change(): L.append(1)",
    "of two functions": "C = {'a': 0, 'b': 0, 'c': 0}\ndef g(): C['b'] += 1\ndef f(x):\n    C['a'] += 1\n    g()\n    return C['c']\ndef change(): C['c'] = 1",
    "of a helper": "C = {'n': 0, 'c': 0}\ndef up(c): c['n'] += 1\ndef f(x):\n    up(C)\n    return C['c']\ndef change(): C['c'] = 1",
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


@pytest.mark.parametrize("line", TAKEN.values(), ids=TAKEN)
def test_what_is_written_counts_however_it_is_taken_from_its_list(load: Load, line: str) -> None:
    f = load(f"{_TAKING}\ndef f(x):\n    {line}\n    return L[0].n").f
    before = facts(f)
    f(3)
    after = facts(f)
    assert after.digest != before.digest
    assert after.fixed == before.fixed
    assert after.firm == before.firm


@pytest.mark.parametrize("line", MEMO.values(), ids=MEMO)
def test_what_a_memo_with_arguments_holds_is_own_state(load: Load, line: str) -> None:
    assert facts(load(f"{_TABLES}{_MEMOS}\ndef f(x):\n    {line}\n    return x").f).places


@pytest.mark.parametrize("line", PURE.values(), ids=PURE)
def test_what_is_new_is_no_own_state(load: Load, line: str) -> None:
    f = load(f"{_TABLES}{_MEMOS}\ndef f(x):\n    {line}\n    return x").f
    assert not facts(f).places


@pytest.mark.parametrize("source", KEYED.values(), ids=KEYED)
def test_of_a_container_only_the_keys_are_own_state_that_a_function_writes(
    load: Load, source: str
) -> None:
    job = load(source)
    before = facts(job.f)
    job.f(3)
    after = facts(job.f)
    assert after.digest != before.digest
    assert after.fixed == before.fixed
    assert after.firm == before.firm
    job.change()
    assert facts(job.f).fixed != before.fixed


@pytest.mark.parametrize("source", LAZY.values(), ids=LAZY)
def test_own_state_without_content_counts_by_its_type(load: Load, source: str) -> None:
    job = load(source)
    before = facts(job.f)
    job.f(3)
    after = facts(job.f)
    assert after.digest != before.digest
    assert after.fixed == before.fixed
    assert after.firm == before.firm
    job.f(3)
    assert facts(job.f).digest == after.digest


def test_what_has_no_content_and_is_also_reached_otherwise_is_an_error(load: Load) -> None:
    job = load(
        "class R:\n    lock = None\n    def __call__(self, x):\n        self.lock = LOCK\n"
        "        return x\nimport threading\nLOCK = threading.Lock()\nf = R()"
    )
    with pytest.raises(FingerprintError, match="uses the global 'LOCK'"):
        facts(job.f)


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
    "attribute of a new object": "class C:\n    n = 0\n    def __init__(self, k): pass\nc = C(1)\ndef f(x):\n    C(x).n = 5\n    return C.n\ndef change(): C.n = 7",
    "read of a dict": "D = {3: 1}\ndef f(x): return D[x], D.get(x), D.items()\ndef change(): D[3] = 2",
    "config obj": "class Cfg: pass\ncfg=Cfg(); cfg.size=3\ndef f(x): return x*cfg.size\ndef change(): cfg.size=4",
    "cfg with unrelated cls write": "class Cfg:\n    def __init__(self): self.size=3\n    def clone(self):\n        c=Cfg(); c.size=9\n        return c\ncfg=Cfg()\ndef f(x): return x*cfg.clone().size+cfg.size\ndef change(): cfg.size=4",
    "list copy method": "L=[1]\ndef f(x):\n    l=L.copy(); l.append(x)\n    return l\ndef change(): L.append(2)",
    "list plus": "L=[1]\ndef f(x):\n    l=L+[x]; l.append(2)\n    return l\ndef change(): L.append(2)",
    "local rebinding after alias": "L=[1]\ndef f(x):\n    l=L\n    n=len(l)\n    l=[]\n    l.append(n)\n    return l\ndef change(): L.append(2)",
    "np.array copy": "import numpy as np\nA=np.zeros(3)\ndef f(x):\n    a=np.array(A); a+=1\n    return a\ndef change(): A[0]=1",
    "np astype": "import numpy as np\nA=np.zeros(3)\ndef f(x):\n    a=A.astype('f4'); a+=1\n    return a\ndef change(): A[0]=1",
    "broadcast + inplace": "import numpy as np\nA=np.zeros(3)\ndef f(x):\n    y=x-A\n    y*=2\n    y[0]=0\n    return y\ndef change(): A[0]=1",
    "param named as global": "import numpy as np\nA=np.zeros(3)\ndef g(A):\n    A+=1\n    return A\ndef f(x): return g(x)+A\ndef change(): A[0]=1",
    "g writes fresh of A": "import numpy as np\nA=np.zeros(3)\ndef g(a):\n    a+=1\n    return a\ndef f(x): return g(A*2)\ndef change(): A[0]=1",
    "g writes copy of A": "import numpy as np\nA=np.zeros(3)\ndef g(a):\n    a=a.copy()\n    a+=1\n    return a\ndef f(x): return g(A)\ndef change(): A[0]=1",
    "1d index": "import numpy as np\nA=np.zeros(3)\ndef f(x):\n    v=A[0]\n    v+=1\n    return v\ndef change(): A[0]=1",
    "dict value int": "D={'a':1}\ndef f(x):\n    v=D['a']\n    v+=1\n    return v\ndef change(): D['a']=2",
    "sum in loop": "W=[1,2]\ndef f(x):\n    t=0\n    for w in W: t+=w\n    return t\ndef change(): W.append(3)",
    "set ops": "S={1}\ndef f(x):\n    s=S|{x}; s.add(3)\n    return s\ndef change(): S.add(9)",
    "str join": "L=['a']\ndef f(x):\n    return ','.join(L)\ndef change(): L.append('b')",
    "class attr config": "class C:\n    size=1\ndef f(x): return C.size\ndef change(): C.size=2",
    "self attr other": "class C:\n    def __init__(self): self.scale=1; self.cache={}\n    def __call__(self,x):\n        self.cache[x]=1\n        return self.scale\nf=C()\ndef change(): f.scale=2",
    "enable/disable": "class C:\n    def __init__(self): self.on=True\n    def disable(self): self.on=False\n    def __call__(self,x): return x if self.on else -x\nf=C()\ndef change(): f.disable()",
    "setter property outside": "class C:\n    def __init__(self): self._p=1\n    @property\n    def p(self): return self._p\n    @p.setter\n    def p(self,v): self._p=v\n    def __call__(self,x): return x*self.p\nf=C()\ndef change(): f.p=5",
    "module attr": "import types\nm=types.SimpleNamespace(scale=1)\ndef f(x): return x*m.scale\ndef change(): m.scale=2",
    "vocab built outside": "V={}\ndef f(x): return V.get(x,0)\ndef change(): V['a']=1",
    "heap copy": "import heapq\nH=[3,1]\ndef f(x):\n    h=list(H); heapq.heapify(h); heapq.heappush(h,x)\n    return h[0]\ndef change(): H.append(0)",
    "np.sort": "import numpy as np\nA=np.array([3,1])\ndef f(x): return np.sort(A)\ndef change(): A[0]=9",
    "out fresh": "import numpy as np\nA=np.array([3.,1])\ndef f(x):\n    o=np.empty(2)\n    np.add(A,x,out=o)\n    return o\ndef change(): A[0]=9",
    "kwargs default": "def f(x,scale=[1]): return x*scale[0]\ndef change(): f.__defaults__[0].append(2)",
    "x as dict": "CFG={'a':1}\ndef f(x):\n    x['a']=CFG['a']\n    x.update(CFG)\n    return x\ndef change(): CFG['b']=2",
    "rng seeded each": "import numpy as np\nSEED=[1]\ndef f(x): return np.random.default_rng(SEED).random()\ndef change(): SEED.append(2)",
    "dict items unpack": "D={'a':[1]}\ndef f(x):\n    r={}\n    for k,v in D.items(): r[k]=sum(v)\n    return r\ndef change(): D['a'].append(3)",
    "fresh container of captured": "A=[1];B=[2]\ndef f(x):\n    both=[A,B]\n    both.append(x)\n    return both\ndef change(): A.append(3)",
    "setdefault on fresh": "A=[1]\ndef f(x):\n    d={}\n    d.setdefault('a',A)\n    d['k']=1\n    return d\ndef change(): A.append(3)",
    "__init__ shared helper": "class C:\n    def __init__(self): self._reset()\n    def _reset(self): self.n=0\n    def __call__(self,x): return self.n\nf=C()\ndef change(): f.n=3",
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
    assert before.digest != alone.digest  # that they share it counts
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


def test_state_of_objects_that_settle_is_not_firm(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if it were a library of models.
    monkeypatch.setattr(library_state, "_SETTLING", {"string"})

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


def _configuration() -> Any:
    import configparser

    made = configparser.ConfigParser()
    made.read_dict({"a": {"scale": "1"}})
    return made


SETTINGS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "Namespace": (lambda: argparse.Namespace(scale=1), lambda each: setattr(each, "scale", 2)),
    "SimpleNamespace": (
        lambda: types.SimpleNamespace(scale=1),
        lambda each: setattr(each, "scale", 2),
    ),
    "ConfigParser": (_configuration, lambda each: each.set("a", "scale", "2")),
    "Template": (lambda: string.Template("$a"), lambda each: setattr(each, "template", "$b")),
    "Formatter": (lambda: logging.Formatter("%(name)s"), lambda each: setattr(each, "_fmt", "b")),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_that_libraries_hold_are_firm(name: str) -> None:
    make, change = SETTINGS[name]
    settings = make()

    def f(x: Any) -> Any:
        return settings, x

    before = facts(f)
    change(settings)
    assert facts(f).firm != before.firm


def test_data_of_libraries_is_firm() -> None:
    import collections

    table = collections.OrderedDict(a=1)

    def f(x: Any) -> Any:
        return table[x]

    before = facts(f)
    table["b"] = 2
    assert facts(f).firm != before.firm


# What is also found without a source, by the places of the instructions.
WITHOUT_SOURCE = [
    *("global", "captured", "captured in a nested function", "memo", "memo of a closure"),
    *("default argument", "deleted item", "augmented item", "setdefault", "append", "add"),
    *("method as a value", "list +=", "Counter", "defaultdict that is read", "bytearray"),
    *("attribute", "attribute that is not there yet", "attribute of an attribute", "slot"),
    *("lazy member", "lazy member by hasattr", "lazy member of a captured object"),
    *("cache of an object", "cache of a subclass", "class attribute"),
    *("array item", "fill", "generator", "generator of an object", "Random", "in a lambda"),
]


@pytest.mark.parametrize("name", WITHOUT_SOURCE)
def test_own_state_is_found_without_a_source(name: str) -> None:
    space: dict[str, Any] = {"__name__": "typed"}
    exec(OWN[name], space)
    f = space["f"]
    before = facts(f)
    f(3)
    assert facts(f).digest != before.digest
    assert facts(f).fixed == before.fixed


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
def test_what_others_write_is_fixed_without_a_source_too(source: str) -> None:
    space: dict[str, Any] = {"__name__": "typed"}
    exec(source, space)
    before = facts(space["f"])
    space["change"]()
    assert facts(space["f"]).digest != before.digest
    assert facts(space["f"]).fixed != before.fixed


@pytest.mark.parametrize("plain", [False, True])
def test_a_memo_that_another_thread_fills_is_no_error(plain: bool) -> None:
    import threading

    def pair(n: int) -> tuple[Any, Any]:
        return (n, n) if plain else ((n,), [n])

    memo: dict[Any, Any] = dict(map(pair, range(2000)))
    done = threading.Event()

    def fill() -> None:
        n = 0
        while not done.is_set():
            key, item = pair(n)
            memo[key] = item
            memo.pop(pair(n - 50)[0], None)
            n += 1

    def f(x: Any) -> Any:
        memo[x] = x
        return x

    before = facts(f)
    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for _ in range(10):
            assert facts(f).fixed == before.fixed
    finally:
        done.set()
        thread.join()


def test_a_dict_that_grows_while_it_is_described_is_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memo = {n: n for n in range(200)}
    expected = fingerprint_of_value(dict(memo)).digest
    order_of = plain.order_of

    def grows(*arguments: Any) -> Any:
        memo[len(memo)] = 0  # as another thread does
        return order_of(*arguments)

    monkeypatch.setattr(plain, "order_of", grows)
    assert fingerprint_of_value(memo).digest == expected


def test_a_graph_is_built_again_once_for_memos_and_data(load: Load) -> None:
    module = load(
        "import functools\nSTATE = {'seen': [], 'rows': [[i] for i in range(9000)]}\n"
        "@functools.lru_cache\ndef table(k): return [k]\n"
        "def f(x):\n    STATE['seen'].append(x)\n    table('a').append(x)\n"
        "    return len(STATE['rows'])"
    )
    with mock.patch.object(value, "_graph", wraps=value._graph) as built:
        value.graph_and_own_state([("f", module.f)], None, looks_at_caches=False)
    assert built.call_count == 2


def _many_ways(depth: int) -> str:
    """Functions that call each other in ways that double with each: with this list or that one."""
    lines = ["A, B = [], []"]
    for i in range(depth):
        below = f"g{i + 1}" if i + 1 < depth else "put"
        lines.append(f"def g{i}(x, *lists):\n    {below}(x, A, *lists)\n    {below}(x, B, *lists)")
    lines.append("def put(x, *lists): lists[0].append(x)")
    lines.append("def f(x):\n    g0(x)\n    return len(A) + len(B)")
    return "\n".join(lines)


def test_functions_that_are_called_in_many_ways_are_followed_in_a_few(load: Load) -> None:
    f = load(_many_ways(14)).f
    followed = targets.Targets(effects_of_function)
    with mock.patch.object(own_state, "Targets", return_value=followed):
        assert facts(f).places, "the lists are own state"
    assert followed.looked_up < 20_000


def test_what_is_too_large_to_be_followed_has_a_fingerprint(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = load("L = []\ndef put(l, x): l.append(x)\ndef f(x):\n    put(L, x)\n    return L[0]").f
    whole = facts(f)
    monkeypatch.setattr(targets, "_MAX_LOOKED_UP", 1)
    given_up = facts(f)
    assert whole.places
    assert not given_up.places, "what moves is then taken for a change from outside, and warned of"
    assert given_up.digest == whole.digest
