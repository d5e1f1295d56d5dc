"""Tests linnet.py: check_linnet.py [--without-numpy] BIN EXAMPLE README RUN...

BIN is the directory of the programs, EXAMPLE the example.json that export --example wrote of the
first RUN, whose text begins with the line end that linnet_start stands for, README the document
with an example in Python. --without-numpy hides NumPy, if it is installed."""

import array
import json
import math
import re
import subprocess
import sys
import threading
import unittest

arguments = sys.argv[1:]
if arguments[0] == "--without-numpy":
    sys.modules["numpy"] = None
    del arguments[0]
try:
    import numpy
except ImportError:
    numpy = None

import linnet

programs, example, readme, *runs = arguments
PROMPT = "the prices"


def fed(model, texts=1, threads=1, prompt=PROMPT):
    session = model.session(texts, threads)
    session.feed([model.start, *model.tokenize(prompt)])
    return session


class Linnet(unittest.TestCase):
    def program(self, *command):
        return subprocess.check_output([f"{programs}/sample", *command])

    def models(self):
        for run in runs:
            with linnet.Model(run) as model:
                yield run, model

    def test_logits_are_those_of_export(self):
        with open(example, encoding="utf-8") as file:
            expected = json.load(file)
        model = linnet.Model(runs[0])
        tokens = [model.start, *model.tokenize(expected["text"].removeprefix("\n"))]
        self.assertEqual(tokens, expected["ids"])
        wanted = array.array("f", expected["logits"])  # nine digits of a float are exact
        logits = array.array("f", bytes(4 * 2 * model.vocabulary_size))
        with model.session(2) as session:
            session.feed(tokens[:1])
            session.feed([tokens[1:], tokens[1:]], logits)
            self.assertEqual(logits, wanted + wanted)
            session.restart()
            if numpy:
                found = session.logits(numpy.array([tokens, tokens]))
                self.assertEqual(found.shape, (2, model.vocabulary_size))
                self.assertEqual(found.dtype, "float32")
                self.assertTrue((found == numpy.array(wanted)).all())
                own = numpy.zeros_like(found)
                session.restart()
                session.feed(tokens, own)
                self.assertTrue((own == found).all())
                self.assertRaisesRegex(linnet.Error, "no tokens", session.logits, [])
            else:
                self.assertRaises(ImportError, session.logits, tokens)

    def test_samples_are_those_of_the_program(self):
        changes = ({}, {"temperature": 0}, {"top_k": 30, "temperature": 1.5}, {"top_p": 0.7},
                   {"repetition_penalty": 1.7, "seed": 5}, {"stop": "e"}, {"length": 0})
        for run, model in self.models():
            for change in changes:
                self.check_sample(run, model, {"length": 40, "seed": 7, **change})

    def check_sample(self, run, model, settings):
        options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
        told = json.loads(self.program("--json", "--count=3", "--prompt", PROMPT, *options, run))
        heard = []
        with fed(model, 3, threads=2) as session:
            texts = session.sample(listener=heard.append, **settings)
        for i, text in enumerate(told["texts"]):
            self.assertEqual([token.id for token in heard if token.text == i], text["token_ids"])
            self.assertEqual(texts[i], text["text"])
        self.assertEqual(model.sample(PROMPT, **settings), texts[0])

    def test_texts_end_before_stop_texts(self):
        for _, model in self.models():
            whole = model.sample(PROMPT, length=40)
            for stop in (whole[begin:begin + 7] for begin in range(0, len(whole) - 7, 5)):
                if "\N{REPLACEMENT CHARACTER}" in stop or "\0" in stop:
                    continue
                self.assertEqual(model.sample(PROMPT, length=40, stop=["nothing", stop]),
                                 whole[:whole.index(stop)])

    def test_a_listener_ends_texts_and_may_raise(self):
        for _, model in self.models():
            whole, heard, parts = [], [], []
            text = fed(model).sample(length=30, listener=whole.append)
            session = fed(model)
            parts += session.sample(length=30,
                                    listener=lambda token: heard.append(token) or len(heard) < 11)
            self.assertEqual(heard, whole[:11])
            parts += session.sample(length=19)
            self.assertEqual("".join(parts), text[0])

            def fail(token):
                raise KeyError(token.id)
            session = fed(model, texts=2)
            with self.assertRaisesRegex(KeyError, str(whole[0].id)):
                session.sample(listener=fail)
            with self.assertRaisesRegex(linnet.Error, "in use"):
                session.sample(listener=lambda _: session.restart())
            session.close()
            self.assertRaisesRegex(linnet.Error, "session is closed", session.sample)

    def test_scores_are_those_of_the_logits(self):
        for _, model in self.models():
            tokens, nats = model.tokenize(PROMPT), 0
            logits = array.array("f", bytes(4 * model.vocabulary_size))
            with model.session() as session:
                for before, token in zip([model.start, *tokens], tokens):
                    session.feed([before], logits)
                    nats += math.log(sum(map(math.exp, logits))) - logits[token]
            score = model.score(PROMPT)
            self.assertAlmostEqual(score.nats, nats, 3)
            self.assertAlmostEqual(score.perplexity, math.exp(score.nats / len(tokens)), 6)
            self.assertEqual((score.tokens, score.bytes), (len(tokens), len(PROMPT)))

    def test_tokens_become_the_text_again(self):
        for _, model in self.models():
            tokens = model.tokenize(PROMPT)
            self.assertEqual(model.detokenize(tokens), PROMPT)
            self.assertEqual(model.detokenize(tokens, errors=None), PROMPT.encode())
            self.assertEqual(model.tokenize(PROMPT.encode()), tokens)
            self.assertEqual((model.tokenize(""), model.detokenize([])), ([], ""))
            self.assertTrue(all(0 <= token < model.vocabulary_size for token in tokens))
            self.assertEqual(model.settings["context"], str(model.context))

    def test_errors_are_exceptions(self):
        model = linnet.Model(runs[0])
        session = fed(model)
        floats = array.array("f", bytes(4 * model.vocabulary_size))
        for part, call in (
                ("nowhere: no such run", lambda: linnet.Model("nowhere")),
                ("contains a zero byte", lambda: linnet.Model(f"{runs[0]}\0")),
                ("at least one text", lambda: model.session(0)),
                ("texts is -1", lambda: model.session(-1)),
                ("threads is -1", lambda: model.session(threads=-1)),
                ("1025 threads", lambda: model.session(threads=1025)),
                (r"tokens\[1\] is -1", lambda: session.feed([1, -1])),
                (r"tokens\[0\] is 2147483647", lambda: model.detokenize([2**31 - 1])),
                ("beyond 32 bits", lambda: session.feed([2**32 + 1])),
                ("of the same length", lambda: session.feed([[1], [2]])),
                ("of the same length", lambda: model.session(2).feed([[1], [2, 3]])),
                ("floats of 32 bits", lambda: session.feed([1], floats[1:])),
                ("floats of 32 bits", lambda: session.feed([1], bytearray(4 * len(floats)))),
                ("no tokens to score", lambda: model.score("")),
                ("linnet_start", lambda: model.session().sample()),
                ("length is -1", lambda: session.sample(length=-1)),
                ("top_k is -1", lambda: session.sample(top_k=-1)),
                ("temperature is nan", lambda: session.sample(temperature=float("nan"))),
                ("top_p is 2", lambda: session.sample(top_p=2)),
                ("more than 16", lambda: session.sample(stop=["a"] * 17)),
                ("stop text contains a zero", lambda: session.sample(stop="a\0"))):
            with self.subTest(part=part):
                self.assertRaisesRegex(linnet.Error, part, call)
        self.assertRaises(TypeError, session.feed, "text")
        self.assertRaises(TypeError, session.feed, [1.5])
        self.assertRaises(TypeError, session.feed, [1], 5)
        self.assertRaises(TypeError, session.feed, [1], memoryview(bytes(floats)).cast("f"))
        self.assertRaises(TypeError, model.tokenize, 5)
        self.assertEqual(session.sample(), fed(model).sample())  # nothing of this was read

    def test_closing(self):
        with linnet.Model(runs[0]) as model:
            session = fed(model)
        self.assertRaisesRegex(linnet.Error, "model is closed", model.tokenize, PROMPT)
        model.close()
        self.assertEqual(len(session.sample()), 1)  # the session keeps the model
        with session:
            pass
        self.assertRaisesRegex(linnet.Error, "session is closed", session.feed, [1])

    def test_threads_share_a_model(self):
        model = linnet.Model(runs[0])
        wanted, found = model.sample(PROMPT), []
        threads = [threading.Thread(target=lambda: found.append(model.sample(PROMPT)))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 4)

        session, inside, outside = fed(model), threading.Event(), threading.Event()
        thread = threading.Thread(target=session.sample,
                                  kwargs={"listener": lambda _: inside.set() or outside.wait()})
        thread.start()
        inside.wait()
        self.assertRaisesRegex(linnet.Error, "each thread needs one", session.sample)
        session.close()  # which ends nothing that another thread still uses
        model.close()
        outside.set()
        thread.join()

    def test_the_example_of_the_document_runs(self):
        with open(readme, encoding="utf-8") as file:
            code = re.search(r"```python\n(import linnet\n.*?)```", file.read(), re.DOTALL).group(1)
        code, count = re.subn(r'"runs/[^"]*"', repr(runs[0]), code)
        self.assertEqual(count, 1)
        if numpy:
            exec(code, {"print": lambda *_: None})


unittest.main(argv=[sys.argv[0]], verbosity=0)
