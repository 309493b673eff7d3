#!/usr/bin/env python3
"""Writes src/tokenizer/unicode_tables.inc from the files of the Unicode Character Database.

  gen_unicode_tables.py UCD_FOLDER [OUT]
  gen_unicode_tables.py --verify UCD_FOLDER

UCD_FOLDER holds, of one version (https://www.unicode.org/Public/16.0.0/ucd/): UnicodeData.txt, Scripts.txt,
PropList.txt, DerivedCoreProperties.txt, CaseFolding.txt, PropertyValueAliases.txt, CompositionExclusions.txt.
--verify compares what the files say with the PyPI packages unicodedata2==16.0.0 and regex==2024.11.6 instead of
writing: two readings of the standard that were made apart from this one.

Every table is an array of plain numbers, in the forms that src/tokenizer/unicode_data.cc reads:
  runs      first code point << 8 | value; a run reaches to the next one
  ranges    first, last
  pairs     from, to
"""

import pathlib
import sys

VERSION = "16.0.0"
CODE_POINTS = 0x110000
# Order of the enum GeneralCategory in unicode_data.h.
CATEGORIES = "Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co".split()
BINARY = {  # property -> file
    "White_Space": "PropList.txt",
    "Join_Control": "PropList.txt",
    "Alphabetic": "DerivedCoreProperties.txt",
    "Uppercase": "DerivedCoreProperties.txt",
    "Lowercase": "DerivedCoreProperties.txt",
}


class Ucd:
    """What the tables need of the database, by code point."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.category = ["Cn"] * CODE_POINTS
        self.combining = {}  # canonical combining class, without the zeros
        self.lowercase = {}  # simple mapping
        self.decomposition = {}  # -> (compatibility?, code points)
        self.read_unicode_data()
        self.scripts = self.read_scripts()
        self.script_names = [names[1] for names in self.aliases("sc")]
        self.script_aliases = {names[1]: names[0] for names in self.aliases("sc")}
        self.properties = {name: self.read_binary(file, name) for name, file in BINARY.items()}
        self.folding = {int(f[0], 16): int(f[2], 16) for f in self.rows("CaseFolding.txt") if f[1] in ("C", "S")}
        self.excluded = {c for f in self.rows("CompositionExclusions.txt", version="") for c in span(f[0])}

    def rows(self, name, version=VERSION):
        """Fields of the lines of a file, without comments. The first line of all but UnicodeData.txt names a version."""
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        if name != "UnicodeData.txt" and version and version not in lines[0]:
            sys.exit(f"{self.folder / name}: Unicode {version} was wanted, the first line is: {lines[0]}")
        for line in lines:
            fields = [field.strip() for field in line.split("#")[0].split(";")]
            if fields != [""]:
                yield fields

    def read_unicode_data(self):
        first = None
        for f in self.rows("UnicodeData.txt"):
            c = int(f[0], 16)
            if f[1].endswith(", First>"):
                first = c
                continue
            for each in range(first if f[1].endswith(", Last>") else c, c + 1):
                self.category[each] = f[2]
            if f[3] != "0":
                self.combining[c] = int(f[3])
            if f[5]:
                words = f[5].split()
                compatibility = words[0].startswith("<")
                self.decomposition[c] = (compatibility, [int(w, 16) for w in words[compatibility:]])
            if f[13]:
                self.lowercase[c] = int(f[13], 16)

    def aliases(self, property_name):
        return [f[1:] for f in self.rows("PropertyValueAliases.txt") if f[0] == property_name]

    def read_scripts(self):
        scripts = ["Unknown"] * CODE_POINTS
        for f in self.rows("Scripts.txt"):
            for c in span(f[0]):
                scripts[c] = f[1]
        return scripts

    def read_binary(self, file, name):
        return {c for f in self.rows(file) if f[1] == name for c in span(f[0])}

    def composes(self, c):
        """Whether NFC puts c together again (a primary composite; Hangul syllables are computed instead)."""
        compatibility, parts = self.decomposition[c]
        return not compatibility and len(parts) == 2 and c not in self.excluded and not (
            self.combining.get(c, 0) or self.combining.get(parts[0], 0))


def span(text):
    first, _, last = text.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def runs(values):
    """values: one number per code point."""
    out = []
    for c, value in enumerate(values):
        if c == 0 or value != values[c - 1]:
            out.append(c << 8 | value)
    return out


def ranges(members):
    out = []
    for c in sorted(members):
        if out and out[-1] == c - 1:
            out[-1] = c
        else:
            out += [c, c]
    return out


def array(name, numbers, comment):
    words = [f"0x{n:X}," for n in numbers]
    lines, line = [], " "
    for word in words:
        if len(line) + len(word) + 1 > 120:
            lines.append(line)
            line = " "
        line += " " + word
    lines.append(line)
    body = "\n".join(lines)
    return f"// {comment}\ninline constexpr std::uint32_t {name}[] = {{\n{body}\n}};\n"


def tables(ucd):
    yield array("kCategoryRuns", runs([CATEGORIES.index(v) for v in ucd.category]),
                "Runs of general categories; values are those of GeneralCategory.")
    index = {name: i for i, name in enumerate(ucd.script_names)}
    yield array("kScriptRuns", runs([index[v] for v in ucd.scripts]), "Runs of scripts; values are places in kScriptNames.")
    names = "\n".join(f'    {{"{name}", "{ucd.script_aliases[name]}"}},' for name in ucd.script_names)
    yield f"// Long and short names of the scripts.\ninline constexpr const char* kScriptNames[][2] = {{\n{names}\n}};\n"
    for name in BINARY:
        yield array(f"k{name.replace('_', '')}", ranges(ucd.properties[name]), f"Ranges of {name}.")
    yield array("kCombiningRuns", runs([ucd.combining.get(c, 0) for c in range(CODE_POINTS)]),
                "Runs of canonical combining classes.")
    yield array("kSimpleFolding", [n for pair in sorted(ucd.folding.items()) for n in pair],
                "Pairs of simple case folding (CaseFolding.txt, status C and S).")
    yield array("kSimpleLowercase", [n for pair in sorted(ucd.lowercase.items()) for n in pair],
                "Pairs of simple lower-case mappings.")
    entries, pool, places = [], [], {}
    for c, (compatibility, parts) in sorted(ucd.decomposition.items()):
        key = tuple(parts)
        if key not in places:
            places[key] = len(pool)
            pool += parts
        kind = 2 if compatibility else 0 if ucd.composes(c) else 1
        entries += [c, places[key] << 8 | len(parts) << 2 | kind]
    yield array("kDecompositions", entries,
                "Code point; place in the pool << 8 | length << 2 | kind (0 canonical, composed again by NFC; 1 canonical; "
                "2 compatibility).")
    yield array("kDecompositionPool", pool, "Decompositions, one step each.")


def verify(ucd):
    import regex
    import unicodedata2
    if unicodedata2.unidata_version != VERSION:
        sys.exit(f"unicodedata2: version {VERSION} was wanted, found {unicodedata2.unidata_version}")
    faults = 0

    def check(what, c, ours, theirs):
        nonlocal faults
        if ours != theirs:
            faults += 1
            if faults <= 20:
                print(f"U+{c:04X} {what}: {ours!r}, the package has {theirs!r}")

    patterns = {name: regex.compile(rf"\p{{{name}}}") for name in BINARY}
    scripts = {name: regex.compile(rf"\p{{Script={name}}}") for name in ucd.script_names
               if name not in ("Katakana_Or_Hiragana", "Unknown")}
    for c in range(CODE_POINTS):
        char = chr(c)
        check("category", c, ucd.category[c], unicodedata2.category(char))
        check("combining class", c, ucd.combining.get(c, 0), unicodedata2.combining(char))
        compatibility, parts = ucd.decomposition.get(c, (False, []))
        theirs = unicodedata2.decomposition(char).split()
        check("decomposition", c, parts, [int(w, 16) for w in theirs if not w.startswith("<")])
        check("compatibility", c, compatibility, bool(theirs) and theirs[0].startswith("<"))
        if parts and not compatibility:
            whole = unicodedata2.normalize("NFC", "".join(map(chr, parts))) == char
            check("composition", c, ucd.composes(c), whole and len(parts) == 2)
        for name, pattern in patterns.items():
            check(name, c, c in ucd.properties[name], pattern.match(char) is not None)
        script = scripts.get(ucd.scripts[c])
        check("script", c, True, script is None or script.match(char) is not None)
    for c, to in ucd.folding.items():
        check("folding", c, True, regex.fullmatch(chr(to), chr(c), regex.IGNORECASE) is not None)
    print(f"{faults} differences")
    return 1 if faults else 0


def main():
    args = sys.argv[1:]
    if args and args[0] == "--verify":
        return verify(Ucd(args[1]))
    if not args:
        sys.exit(__doc__)
    root = pathlib.Path(__file__).parent.parent
    out = pathlib.Path(args[1]) if len(args) > 1 else root / "src" / "tokenizer" / "unicode_tables.inc"
    text = (f"// Generated by tools/gen_unicode_tables.py from the Unicode Character Database {VERSION}; do not edit.\n"
            "// Data: (c) Unicode, Inc., Unicode License v3 (see THIRD_PARTY.md). clang-format off\n\n")
    text += "\n".join(tables(Ucd(args[0])))
    out.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
