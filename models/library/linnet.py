"""Trained linnet models in Python: liblinnet by ctypes, in one file that needs no other package.

    import linnet

    with linnet.Model("runs/softmax-book") as model:
        print(model.sample("The state is", length=50))
        print(model.score("The state is the question.").perplexity)
        with model.session() as session:
            logits = session.logits([model.start, *model.tokenize("The state is")])
            print("most likely next token:", logits[0].argmax())

The methods call the functions of linnet.h, which says more about each. Only Session.logits needs
NumPy. Texts are str, or bytes in UTF-8. What the library refuses raises Error.

Any number of threads may use one model, each with a session of its own. A session that is in use
raises Error. Closing frees the memory as soon as no other thread uses it.

The library is that of LINNET_LIBRARY (a path), else that of the same installation or build, else
that of the dynamic loader."""

import array
import codecs
import collections
import contextlib
import ctypes
import math
import operator
import os
import threading
from ctypes import (POINTER, c_bool, c_char_p, c_double, c_int32, c_size_t, c_ssize_t, c_uint64,
                    c_void_p)

__all__ = ["Error", "Model", "Score", "Session", "Token"]


class Error(Exception):
    """A call that failed: what is wrong, where, and what to do."""


class Token(collections.namedtuple("Token", "text id piece nats")):
    """A generated token: the number of its text in the session, its id, the characters that it adds
    to the text, and its loss."""


class Score(collections.namedtuple("Score", "nats tokens unknown bytes")):
    """The score of a text: its summed loss; its tokens; how many of them are unknown words."""

    @property
    def perplexity(self):
        return math.exp(self.nats / self.tokens)

    @property
    def bits_per_byte(self):
        return self.nats / (self.bytes * math.log(2))


# --- the library ---


class _Sampling(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("length", c_size_t), ("temperature", c_double),
                ("top_k", c_size_t), ("top_p", c_double), ("repetition_penalty", c_double),
                ("seed", c_uint64), ("stops", POINTER(c_char_p)), ("unknown", c_bool)]


class _Token(ctypes.Structure):
    _fields_ = [("text", c_size_t), ("id", c_int32), ("nats", c_double), ("bytes", c_void_p),
                ("size", c_size_t)]


class _Score(ctypes.Structure):
    _fields_ = [("nats", c_double), ("tokens", c_size_t), ("unknown", c_size_t),
                ("bytes", c_size_t)]


_Listener = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(_Token))

# What each function returns and takes; a c_char_p at the end is a linnet_error.
_FUNCTIONS = {
    "linnet_version": [c_char_p],
    "linnet_open": [c_void_p, c_char_p, c_char_p],
    "linnet_close": [None, c_void_p],
    "linnet_settings": [c_char_p, c_void_p],
    "linnet_vocabulary_size": [c_size_t, c_void_p],
    "linnet_context": [c_size_t, c_void_p],
    "linnet_start": [c_int32, c_void_p],
    "linnet_tokenize": [c_ssize_t, c_void_p, c_char_p, c_size_t, c_void_p, c_size_t, c_char_p],
    "linnet_detokenize": [c_ssize_t, c_void_p, c_void_p, c_size_t, c_char_p, c_size_t, c_char_p],
    "linnet_session_open": [c_void_p, c_void_p, c_size_t, c_size_t, c_char_p],
    "linnet_session_close": [None, c_void_p],
    "linnet_restart": [None, c_void_p],
    "linnet_feed": [c_bool, c_void_p, c_void_p, c_size_t, c_void_p, c_char_p],
    "linnet_sample": [c_bool, c_void_p, POINTER(_Sampling), _Listener, c_void_p, c_char_p],
    "linnet_score_text": [c_bool, c_void_p, c_char_p, c_size_t, POINTER(_Score), c_char_p],
}
_NAME = "liblinnet.so.0"
# The levels that a portable build has beside that for every x86-64, and what tells them apart. The
# dynamic loader takes the best only of libraries that it looks for itself.
_LEVELS = [("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
           ("x86-64-v3", {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"})]


def _find():
    """The path of the library, or its name for the dynamic loader."""
    if os.environ.get("LINNET_LIBRARY"):
        return os.environ["LINNET_LIBRARY"]
    # This file is share/linnet/linnet.py, lib/python3.N/site-packages/linnet.py, or in the sources.
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    for folder in (os.path.join(top, "lib"), top, os.path.join(top, "bin", "lib")):
        if os.path.exists(os.path.join(folder, _NAME)):
            break
    else:
        return _NAME
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            flags = set(file.read().split())
    except OSError:
        flags = set()
    levels = [os.path.join("glibc-hwcaps", level) for level, needs in _LEVELS if needs <= flags]
    paths = [os.path.join(folder, level, _NAME) for level in [*levels, ""]]
    return next(path for path in paths if os.path.exists(path))


def _load():
    try:
        library = ctypes.CDLL(_find())
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot use liblinnet: {error}; install linnet, or set LINNET_LIBRARY "
                          f"to the path of its {_NAME}") from None
    return library


_library = _load()
__version__ = _library.linnet_version().decode()


def _call(function, *arguments):
    """Calls a function that can fail."""
    error = ctypes.create_string_buffer(1024)
    result = function(*arguments, error)
    if result is None or result is False or result == -1:
        raise Error(error.value.decode(errors="replace"))
    return result


class _Handle:
    """A model or a session of the library, which is freed when nobody uses it any more."""

    def __init__(self, pointer, free, *kept):
        self._as_parameter_, self._free, self._kept = pointer, free, kept

    def __del__(self):
        self._free(self._as_parameter_)


def _bytes(text):
    return text.encode() if isinstance(text, str) else bytes(memoryview(text))


def _without_zeros(what, text):
    """Bytes for a function that reads up to a zero."""
    if b"\0" in text:
        raise Error(f"{what} contains a zero byte")
    return text


def _count(name, value):
    number = operator.index(value)
    if not 0 <= number < 1 << 63:
        raise Error(f"{name} is {value}, but must be from 0 to 2^63 - 1")
    return number


def _ids(tokens):
    """An array of token ids, which are only checked to be numbers of 32 bits."""
    if isinstance(tokens, (str, bytes, bytearray)):
        raise TypeError("tokens are numbers: tokenize the text first")
    try:
        return array.array("i", iter(tokens))
    except OverflowError:
        raise Error("a token is a number beyond 32 bits") from None


def _address(numbers):
    return c_void_p(numbers.buffer_info()[0])


# --- models and sessions ---


class _Closable:
    """Has a handle until it is closed."""

    def __init__(self, handle):
        self._handle = handle

    def _opened(self):
        handle = self._handle
        if handle is None:
            raise Error(f"this {type(self).__name__.lower()} is closed")
        return handle

    def close(self):
        self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


class Model(_Closable):
    """The best checkpoint of a run directory, or a checkpoint file."""

    def __init__(self, run):
        path = _without_zeros("the path of a run", os.fsencode(run))
        super().__init__(_Handle(_call(_library.linnet_open, path), _library.linnet_close))

    @property
    def settings(self):
        """The settings of the model and its text, as train stored them: a dict of str."""
        lines = _library.linnet_settings(self._opened()).decode(errors="replace").split("\n")
        return dict(line.split(" = ", 1) for line in lines if " = " in line)

    @property
    def vocabulary_size(self):
        return _library.linnet_vocabulary_size(self._opened())

    @property
    def context(self):
        """The context length in tokens that the model was trained with."""
        return _library.linnet_context(self._opened())

    @property
    def start(self):
        """The token that texts begin after: feed it first."""
        return _library.linnet_start(self._opened())

    def tokenize(self, text):
        """The list of the tokens of a text, without the start token."""
        text = _bytes(text)
        tokens = (c_int32 * len(text))()
        count = _call(_library.linnet_tokenize, self._opened(), text, len(text), tokens, len(text))
        return tokens[:count]

    def detokenize(self, tokens, errors="replace"):
        """The text of tokens; errors is that of bytes.decode, or None for the bytes themselves."""
        ids, model = _ids(tokens), self._opened()
        arguments = model, _address(ids), len(ids)
        size = _call(_library.linnet_detokenize, *arguments, None, 0)
        text = ctypes.create_string_buffer(size)
        _call(_library.linnet_detokenize, *arguments, text, size)
        return text.raw if errors is None else text.raw.decode("utf-8", errors)

    def session(self, texts=1, threads=1):
        """A session for a batch of texts, computed by some threads; 0: one per processor."""
        return Session(self, texts, threads)

    def score(self, text, threads=1):
        """The Score of a text, as eval computes it."""
        with self.session(threads=threads) as session:
            return session.score(text)

    def sample(self, prompt="", threads=1, **settings):
        """A text that continues the prompt; settings as for Session.sample."""
        with self.session(threads=threads) as session:
            session.feed([self.start, *self.tokenize(prompt)])
            return session.sample(**settings)[0]


class Session(_Closable):
    """Texts that a model reads side by side, for one thread at a time."""

    def __init__(self, model, texts=1, threads=1):
        opened = model._opened()
        pointer = _call(_library.linnet_session_open, opened, _count("texts", texts),
                        _count("threads", threads))
        super().__init__(_Handle(pointer, _library.linnet_session_close, opened))
        self.texts, self._lock = texts, threading.Lock()
        self._vocabulary_size = _library.linnet_vocabulary_size(opened)

    @contextlib.contextmanager
    def _using(self):
        handle = self._opened()
        if not self._lock.acquire(blocking=False):
            raise Error("this session is in use: each thread needs one of its own")
        try:
            yield handle
        finally:
            self._lock.release()

    def restart(self):
        """Forgets what the texts have read."""
        with self._using() as session:
            _library.linnet_restart(session)

    def feed(self, tokens, logits=None):
        """Feeds tokens: a list for all texts, or one for each, of the same length. Writes the
        logits of the next tokens to `logits`, a writable buffer of floats with a row for each
        text."""
        tokens = list(tokens)
        rows = tokens if tokens and hasattr(tokens[0], "__len__") else [tokens] * self.texts
        rows = [_ids(row) for row in rows]
        count = len(rows[0])
        if len(rows) != self.texts or any(len(row) != count for row in rows):
            raise Error(f"a session of {self.texts} texts needs as many rows of tokens, all of the "
                        "same length")
        ids = sum(rows, array.array("i"))
        if logits is not None:
            view = memoryview(logits)
            if view.format != "f" or view.nbytes != 4 * self.texts * self._vocabulary_size:
                raise Error(f"the logits need a buffer of {self.texts} times "
                            f"{self._vocabulary_size} floats of 32 bits")
            logits = (ctypes.c_char * view.nbytes).from_buffer(view)
        with self._using() as session:
            _call(_library.linnet_feed, session, _address(ids), count, logits)

    def logits(self, tokens):
        """Feeds tokens, at least one, and returns the logits of the next ones: a NumPy array of
        shape (texts, vocabulary_size), into which the library has written."""
        import numpy
        tokens = list(tokens)
        if not tokens or hasattr(tokens[0], "__len__") and not len(tokens[0]):
            raise Error("there are no tokens to feed")
        logits = numpy.empty((self.texts, self._vocabulary_size), numpy.float32)
        self.feed(tokens, logits)
        return logits

    def score(self, text):
        """The Score of a text, as eval computes it; the texts of the session stay as they are."""
        text, score = _bytes(text), _Score()
        with self._using() as session:
            _call(_library.linnet_score_text, session, text, len(text), score)
        return Score(*(getattr(score, field) for field in Score._fields))

    def sample(self, *, length=100, temperature=0.8, top_k=0, top_p=1, repetition_penalty=1, seed=1,
               stop=(), unknown=True, listener=None):
        """Continues each text, behind what was fed, and returns the list of what was generated. A
        text ends before the first of the stop texts (one, or a list). The listener is called with
        each Token; if it returns False, the text ends."""
        stops = [stop] if isinstance(stop, (str, bytes)) else stop
        stops = [_without_zeros("a stop text", _bytes(text)) for text in stops]
        settings = _Sampling(ctypes.sizeof(_Sampling), _count("length", length), temperature,
                             _count("top_k", top_k), top_p, repetition_penalty,
                             _count("seed", seed), (c_char_p * (len(stops) + 1))(*stops, None),
                             unknown)
        decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in range(self.texts)]
        pieces, raised = [[] for _ in decoders], []

        def listen(_, pointer):
            if raised:
                return False
            try:
                token = pointer.contents
                piece = decoders[token.text].decode(ctypes.string_at(token.bytes, token.size))
                pieces[token.text].append(piece)
                return listener is None or listener(
                    Token(token.text, token.id, piece, token.nats)) is not False
            except BaseException as exception:  # nothing may pass through the library
                raised.append(exception)
                return False

        with self._using() as session:
            _call(_library.linnet_sample, session, settings, _Listener(listen), None)
        if raised:
            raise raised[0]
        return ["".join(told) + decoder.decode(b"", True)
                for told, decoder in zip(pieces, decoders)]
