#!/usr/bin/env python3
"""Writes language.jsonl: what Jinja2 makes of the templates below, set up as Hugging Face does for chat templates.

    pip install jinja2==3.1.6 && python3 make_cases.py > language.jsonl

A line is {"source", "vars"?, "now"?} with "text", or with "error" true where Jinja2 refuses ("raised" where the
template itself called raise_exception). Messages of other errors are the engine's own and are not compared.
"""
import copy
import datetime
import json

import jinja2
import jinja2.ext

NOW = "2024-02-29 07:08:09"
VARS = {
    "n": 7, "neg": -7, "f": 2.5, "big": 12345678901234567890, "t": True, "z": None, "s": "Hello World", "e": "",
    "u": "Grüße, 世界 😀!", "l": [3, 1, 2], "ll": [[1, 2], [3, 4]], "d": {"b": 1, "a": {"x": [1, 2]}, "items": 5, "é": "ß"},
    "html": "<a href=\"x\">'&'</a>", "ws": "  \t padded \n ", "lines": "one\ntwo\r\nthree\n\nfour",
    "users": [{"name": "Bo", "age": 30, "tags": ["x"]}, {"name": "al", "age": 25, "tags": []},
              {"name": "Cy", "age": 30, "tags": ["y", "z"], "x": {"y": 1}}],
}

# Templates over VARS, one a line.
LINES = r"""
{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 6 / 2 }}
{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ 2 ** 100 }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 1e3 }} {{ 1.5e-7 }} {{ 1e16 }} {{ 123456789012345680.0 }}
{{ 0.1 + 0.2 }} {{ 1 / 3 }} {{ 100.0 }} {{ 1e22 }} {{ 1e-4 }} {{ 0.00001 }} {{ -0.0 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }}
{{ 1_000_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5_0 }} {{ 00 }}
{{ true + true }} {{ true * 3 }} {{ -true }} {{ not true }} {{ +true }} {{ true / 2 }}
{{ big }} {{ big + 1 }} {{ big * 2 }} {{ -big }} {{ big // 7 }} {{ big % 1000 }} {{ big > 1e19 }} {{ big / 2 }}
{{ 9007199254740993 == 9007199254740992.0 }} {{ 9007199254740992 == 9007199254740992.0 }} {{ 1 == 1.0 == true }} {{ 0 == false }}
{{ n }} {{ f }} {{ t }} {{ z }} {{ s }} {{ e }} {{ l }} {{ d }} {{ ll }} {{ missing }}|
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 3 > 2 >= 2 != 1 }} {{ 1 == 1 in [true] }}
{{ "a" < "b" }} {{ "a" < "B" }} {{ "é" > "z" }} {{ [1, 2] < [1, 3] }} {{ [1] < [1, 0] }} {{ (1, "a") < (1, "b") }} {{ [] < [1] }}
{{ [1, [2]] == [1, [2]] }} {{ (1,) == [1] }} {{ {"a": 1, "b": 2} == {"b": 2, "a": 1.0} }} {{ none == false }} {{ "1" == 1 }}
{{ 1 in l }} {{ 9 not in l }} {{ "ell" in s }} {{ "b" in d }} {{ "x" in missing }} {{ "" in "" }} {{ none in [none] }} {{ 1.0 in [1] }}
{{ "a" ~ 1 ~ none ~ 1.0 ~ true ~ [1, "x"] ~ missing ~ "z" }} {{ "x" + 1 ~ 2 }} {{ 1 ~ "a" + "b" }}
{{ 1 ~ 2 + 3 }}
{{ "x" ~ "y" if 1 else "z" }} {{ "a" if 0 else "b" if 0 else "c" }} {{ "a" if 0 }}| {{ ("a" if 0) is undefined }}
{{ 0 or "x" }} {{ 0 or none }} {{ "" or [] }} {{ 1 and 2 }} {{ 0 and 1/0 }} {{ 1 or 1/0 }} {{ none or missing or 3 }} {{ not 0 and 1 }}
{{ not 1 == 2 }} {{ not (1, ) }} {{ not "" and not [] and not {} and not 0.0 and not none }}
{{ "a" "b" 'c' }} {{ "tab\tnl\\n \x41 \u00e9 \U0001F600 \101 \' \" \q" }} {{ 'a"b' }} {{ "a'b" }}
{{ ["a'b", 'a"b', "a'\"b", "\n\t\\\r\x00\x7f", "é\u200b\u00a0", "😀"] }}
{{ (1,) }} {{ () }} {{ (1, 2) }} {{ 1, 2 }} {{ [1, (2, [3])] }} {{ {1: "a", "b": none, 1.5: [], true: 2} }}
{{ [] + [1] }} {{ [1] * 3 }} {{ 2 * [1, 2] }} {{ (1,) + (2,) }} {{ "ab" * 2 }} {{ 0 * "ab" }} {{ -1 * [1] }}
{{ s[0] }} {{ s[-1] }} {{ s[100] }}| {{ s[1:4] }} {{ s[:-3] }} {{ s[::-1] }} {{ s[::2] }} {{ s[-3:] }} {{ s[5:2] }}| {{ s[4:1:-1] }} {{ s[:] }}
{{ u[0] }} {{ u[2:5] }} {{ u[-2] }} {{ u[::-1] }} {{ u[7:9] }} {{ u | length }} {{ u[-2:] }}
{{ l[0] }} {{ l[-1] }} {{ l[9] }}| {{ l[1:] }} {{ l[::-1] }} {{ l[-2:] }} {{ l[5:] }} {{ l[:0] }} {{ l[2:0:-1] }} {{ l[::-2] }} {{ l[none:none] }} {{ l[true] }}
{{ (1, 2, 3)[1:] }} {{ range(10)[2:8:3] | list }} {{ range(10)[::-1] | list }} {{ range(5)[-1] }} {{ range(3) }} {{ range(1, 10, 3) | list }} {{ range(5, 0, -2) | list }} {{ range(0) | list }}
{{ d.b }} {{ d["b"] }} {{ d.a.x[1] }} {{ d.a["x"].0 }} {{ d["items"] }} {{ d.nope }}| {{ d["nope"] }}| {{ d.é }} {{ d.get("b") }} {{ d.get("q") }} {{ d.get("q", 5) }} {{ l.nope }}| {{ s.nope }}|
{{ d.keys() | list }} {{ d.values() | list }} {{ d.items() | list }} {{ d.keys() }} {{ d.a.items() }} {{ d.a.values() }} {{ d | list }} {{ d | length }}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }},{% endfor %} {% for c in "añ😀" %}[{{ c }}]{% endfor %} {% for x in missing %}x{% else %}none{% endfor %}
{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {{ loop.cycle("a", "b") }} {{ loop.changed(x > 1) }}|{% endfor %}
{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}{% for x in l if x > 9 %}y{% else %}none{% endfor %}
{% for a, b in ll %}{{ a }}-{{ b }} {% endfor %}{% for (a, b), c in [((1, 2), 3)] %}{{ a + b + c }}{% endfor %}{% for a, b in ["xy"] %}{{ a }}{{ b }}{% endfor %}
{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}
{% for x in range(3) %}{% for y in range(3) %}{% if y == 1 %}{% break %}{% endif %}{{ x }}{{ y }} {% endfor %}{% endfor %}
{% for x in 1, 2, 3 %}{{ x }}{% endfor %} {% for x in (4, 5) %}{{ x }}{% endfor %} {% for x in [] %}{% else %}empty{% endfor %}
{% set x = 1 %}{% for i in range(3) %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}
{% set ns = namespace(x=1, y="q") %}{% for i in range(3) %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ ns.z }}| {% set ns.z = [1] %}{{ ns.z }} {{ ns }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set a, b = b, a %}{{ a }}{{ b }}{% set (c, d2) = "xy" %}{{ c }}{{ d2 }}{% set q = 1, %}{{ q }}
{% set x %}a{{ n }}b{% endset %}{{ x }}|{{ x | length }}{% set y | upper | replace("A", "_") %}abc{% endset %}{{ y }}
{% if false %}{% set k = 1 %}{% endif %}{{ k is defined }}{% if true %}{% set k = 2 %}{% endif %}{{ k }}
{% for i in [1] %}{% if true %}{% set inner = 5 %}{% endif %}{{ inner }}{% endfor %}{{ inner is defined }}
{% if n > 5 and f %}A{% elif n %}B{% else %}C{% endif %}{% if not n %}A{% elif z %}B{% else %}C{% endif %}{% if missing %}x{% endif %}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }};{% endmacro %}{{ m(1) }}{{ m(1, c=3) }}{{ m(b=5, a=0) }}{{ m() }}{{ m(1, 2, 3) }}
{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}{{ m() }}
{% macro m(x) %}<{{ caller(x) }}>{% endmacro %}{% call(y) m(5) %}{{ y * 2 }}{{ s }}{% endcall %}{% macro w() %}[{{ caller() }}]{% endmacro %}{% call w() %}in{% endcall %}
{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}
{% macro m(x) %}{% set x = x + 1 %}{{ x }}{{ outer }}{% endmacro %}{% set outer = "o" %}{{ m(1) }}{% set outer = "p" %}{{ m(1) }}
{% for i in range(3) %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}
{% macro m(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ m() }}{{ m(none) }}{{ m.name }}
{% macro m(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ m(*[1, 2]) }} {{ m(**{"a": 3, "b": 4}) }} {{ m(1, *[2]) }} {{ m(1, **{"b": 2}) }}
{% filter upper %}abc{{ s }}{% endfilter %}{% filter replace("a", "b") | upper %}aXa{% endfilter %}
{% with a = 1, b = n %}{{ a + b }}{% set a = 9 %}{{ a }}{% endwith %}{{ a is defined }}{% with %}{% set q = 1 %}{{ q }}{% endwith %}
{% generation %}x{{ s }}{% set g = 1 %}{{ g }}{% endgeneration %}{{ g is defined }}
{% raw %}{{ not }} {% if %} {# c #}{% endraw %}|{% raw -%}   x   {%- endraw %}|{# comment {{ x }} #}|{#- c -#}  |
  {% if true %}x{% endif %} y
a  {%- if true -%}  b  {%- endif -%}  c  {{- 1 -}}  d  {#- c -#}  e
a {%+ if true %} b {% endif +%} c
{{ {"a": {"b": {"c": 1}}} }} {{ {"a": {}} }} {{ {} }} {{ {"x": 1,} }} {{ [1, 2,] }} {{ {"a": 1}["a"] }}
{{ "  x ".strip() }}|{{ "xxabxx".strip("x") }}|{{ "abc".lstrip("ab") }}|{{ "abc".rstrip("bc") }}|{{ ws.strip() }}|{{ ws.lstrip() }}|{{ ws.rstrip() }}|{{ "é😀é".strip("é") }}
{{ "a,b,,c".split(",") }} {{ " a  b c ".split() }} {{ "a,b,c".split(",", 1) }} {{ " a  b c ".split(none, 1) }} {{ "".split() }} {{ "".split(",") }} {{ "abc".split("x") }} {{ "a--b".split("--")[-1] }}
{{ "a,b,c".rsplit(",", 1) }} {{ " a b  c ".rsplit() }} {{ " a b  c ".rsplit(none, 1) }} {{ "aaa".split("a") }} {{ "a b".split(" ", maxsplit=0) }} {{ "a,b".rsplit(sep=",") }}
{{ "Hello".startswith("He") }} {{ "Hello".endswith(("x", "lo")) }} {{ "Hello".startswith("l", 2) }} {{ "Hello".endswith("l", 0, 4) }} {{ "".startswith("") }} {{ "a".startswith("", 5) }} {{ "abc".startswith(("x",)) }}
{{ "aXbX".replace("X", "-") }} {{ "aXbX".replace("X", "-", 1) }} {{ "abc".replace("", ".") }} {{ "😀".replace("", ".") }} {{ "".replace("", "x") }} {{ "aaa".replace("a", "aa") }} {{ "abc".replace("", ".", 2) }}
{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ "hELLO wORLD x2y it's".capitalize() }} {{ "hELLO wORLD x2y it's".title() }} {{ s.swapcase() }} {{ "straße ŉ ﬁ ΑΣ ΣΑΣ. ǆ İ".upper() }} {{ "STRASSE ΑΣ Σ ΑΣΑ ΟΔΟΣ. İ".lower() }} {{ "ǆabc ﬁx ßa".title() }} {{ "ßABC".capitalize() }} {{ "ẞß".casefold() }}
{{ s.find("o") }} {{ s.rfind("o") }} {{ s.find("z") }} {{ s.find("o", 5) }} {{ u.find("世") }} {{ u.rfind("!") }} {{ s.index("W") }} {{ s.count("l") }} {{ s.count("") }} {{ "".find("") }} {{ "abc".find("", 5) }} {{ "aaaa".count("aa") }} {{ s.find("o", -3) }} {{ s.find("o", 0, 3) }}
{{ "-".join(["a", "b"]) }} {{ "".join("abc") }} {{ ", ".join({"x": 1, "y": 2}) }} {{ "-".join([]) }}|
{{ lines.splitlines() }} {{ lines.splitlines(true) }} {{ "a\x0bb\x0cc\x1cd\x85e\u2028f".splitlines() }} {{ "".splitlines() }} {{ "\n".splitlines() }}
{{ "prefix-x".removeprefix("prefix-") }} {{ "x.py".removesuffix(".py") }} {{ "a.b.c".partition(".") }} {{ "a.b.c".rpartition(".") }} {{ "abc".partition("x") }} {{ "abc".rpartition("x") }}
{{ "5".isdigit() }} {{ "٣".isdigit() }} {{ "²".isdigit() }} {{ "²".isdecimal() }} {{ "½".isnumeric() }} {{ "abc".isalpha() }} {{ "ab1".isalnum() }} {{ " ".isspace() }} {{ "".isdigit() }} {{ "A b".isupper() }} {{ "AB1".isupper() }} {{ "ab".islower() }} {{ "Ab Cd".istitle() }} {{ "a_1".isidentifier() }} {{ "1a".isidentifier() }} {{ "aé".isascii() }} {{ "a\n".isprintable() }}
{{ "x".ljust(4, ".") }}| {{ "x".rjust(4) }}| {{ "x".center(4, "*") }} {{ "xy".center(5, "*") }} {{ "x".center(5, "é") }} {{ "-5".zfill(4) }} {{ "5".zfill(3) }} {{ "a\tb".expandtabs(4) }}
{{ "%s is %d years, %.2f%%" % ("Al", 30, 99.5) }} {{ "%5d|%-5d|%05d|%+d" % (42, 42, 42, 42) }} {{ "%x %X %o %#x" % (255, 255, 8, 255) }} {{ "%e %g %G" % (12345.678, 0.00001, 1e20) }} {{ "%r %s" % ("a", "b") }} {{ "%c%c" % (65, "B") }} {{ "%(a)s-%(b)d" % {"a": 1, "b": 2} }} {{ "%s" % [1] }} {{ "%5s|%-5s|%.2s" % ("ab", "ab", "abcd") }} {{ "%*d" % (5, 42) }} {{ "%s" % missing }}| {{ "%d" % 3.9 }} {{ "%.3d" % 5 }} {{ "% d" % 5 }} {{ "%s" % none }} {{ "%i" % true }}
{{ "{} {}".format(1, "a") }} {{ "{1} {0}".format(1, 2) }} {{ "{a} {b!r}".format(a=1, b="x") }} {{ "{0[a]} {0[b][1]}".format({"a": 1, "b": [1, 2]}) }} {{ "{{}}".format() }} {{ "{:>5}|{:<5}|{:^5}|{:*^7}".format(1, "a", "b", "c") }} {{ "{:05d} {:+} {:,} {:_}".format(42, 3, 1234567, 1234567) }} {{ "{:.2f} {:8.3f} {:e} {:g} {:%}".format(3.14159, 2.5, 12345.6789, 1e10, 0.256) }} {{ "{:x} {:#X} {:b} {:#o} {:c}".format(255, 255, 5, 8, 65) }} {{ "{:.3}".format("abcdef") }} {{ "{:{}}".format("x", 4) }}| {{ "{:010.2f}".format(-3.14159) }} {{ "{!s:>4}".format(none) }} {{ "{:.3}".format(3.14159) }} {{ "{:5}".format(true) }} {{ "{:,.2f}".format(1234567.891) }} {{ "{:09,}".format(12345) }}
{{ [1, 2].append(3) }} {% set q = [1] %}{% set _ = q.append(2) %}{% set _ = q.extend([3, 4]) %}{% set _ = q.insert(0, 0) %}{{ q }} {{ q.pop() }} {{ q.pop(0) }} {{ q }} {{ q.index(2) }} {{ q.count(1) }} {% set _ = q.reverse() %}{{ q }} {% set _ = q.remove(2) %}{{ q }} {{ q.copy() }} {% set _ = q.insert(-1, 9) %}{{ q }} {% set _ = q.insert(99, 8) %}{{ q }} {% set _ = q.sort() %}{{ q }} {% set _ = q.clear() %}{{ q }}
{% set q = {"a": 1} %}{% set _ = q.update({"b": 2}) %}{% set _ = q.update(c=3) %}{% set _ = q.update([("d", 4)]) %}{{ q }} {{ q.pop("a") }} {{ q.pop("zz", 0) }} {{ q.setdefault("e", 5) }} {{ q.setdefault("b") }} {{ q.popitem() }} {{ q.copy() }} {{ q }} {% set _ = q.clear() %}{{ q }}
{{ l | length }} {{ s | length }} {{ d | count }} {{ range(5) | length }} {{ missing | length }} {{ () | length }}
{{ l | join }} {{ l | join("-") }} {{ users | join(",", attribute="name") }} {{ "abc" | join("-") }} {{ [1, none, "x", 2.0, missing] | join("|") }} {{ d | join }} {{ l | join(1) }}
{{ l | first }} {{ l | last }} {{ [] | first }}| {{ "abc" | last }} {{ d | first }} {{ d | last }} {{ [] | last is defined }} {{ range(3) | last }}
{{ "aBc dE-fg (hi) x'y" | title }} {{ "aBc" | upper }} {{ "aBc" | lower }} {{ "aBC dE" | capitalize }} {{ 5 | upper }} {{ none | lower }} {{ missing | upper }}|
{{ "  a " | trim }}| {{ "xxaxx" | trim("x") }} {{ 5 | trim }} {{ "aXX" | trim(chars="X") }}
{{ s | replace("o", "0") }} {{ s | replace("o", "0", 1) }} {{ 1231 | replace(1, "x") }} {{ s | replace(old="l", new="L") }}
{{ missing | default("d") }} {{ none | default("d") }} {{ "" | default("d", true) }} {{ "" | d("x", boolean=true) }} {{ missing | default }}| {{ false | default(1, true) }} {{ missing.x | default(1) if false else 2 }} {{ d.q | default([1]) }}
{{ d | tojson }} {{ l | tojson(indent=2) }} {{ d | tojson(indent=2) }} {{ html | tojson }} {{ u | tojson }} {{ u | tojson(ensure_ascii=true) }} {{ d | tojson(separators=(",", ":")) }} {{ d | tojson(sort_keys=true) }} {{ [1.0, 1e20, none, true, (1, 2), "\u2028\x7f\x01"] | tojson }} {{ {} | tojson(indent=2) }}{{ [] | tojson(indent=2) }} {{ [[], {}] | tojson(indent=2) }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ d | tojson(indent="--") }} {{ [1, 2] | tojson(indent=0) }} {{ [1] | tojson(indent=2, separators=(", ", " : ")) }}
{{ lines | indent }}| {{ lines | indent(2) }}| {{ lines | indent(2, true) }}| {{ lines | indent(2, true, true) }}| {{ "a" | indent(first=true) }} {{ lines | indent(">> ") }}| {{ "" | indent }}| {{ "a\n" | indent(2) }}|
{{ d | items | list }} {{ missing | items | list }} {% for k, v in d | items %}{{ k }}:{{ v }} {% endfor %}
{{ {"b": 1, "A": 2, "c": 0} | dictsort }} {{ {"b": 1, "A": 2} | dictsort(true) }} {{ {"b": 1, "A": 2} | dictsort(by="value") }} {{ {"b": 1, "a": 2} | dictsort(reverse=true) }} {{ {"b": "x", "a": "Y"} | dictsort(false, "value") }}
{{ users | map(attribute="name") | list }} {{ users | map(attribute="tags.0", default="-") | list }} {{ ["a", "b"] | map("upper") | list }} {{ [1.5, 2.5] | map("int") | join(",") }} {{ ["a-b"] | map("replace", "-", "_") | first }} {{ users | map(attribute="x.y") | map("default", 0) | list if false else "n" }} {{ none | map("upper") | list }} {{ ll | map("first") | list }} {{ ll | map("sum") | list }} {{ ll | map(attribute=1) | list }}
{{ [0, 1, "", "a", none] | select | list }} {{ [1, 2, 3] | select("odd") | list }} {{ [1, 2, 3] | reject("odd") | list }} {{ [1, 2, 3] | select(">", 1) | list }} {{ [1, "a"] | select("string") | list }} {{ l | select("in", [1, 2]) | list }} {{ [1, 2, 3, 4] | select("divisibleby", 2) | list }} {{ [none, 1] | reject("none") | list }}
{{ users | selectattr("tags") | map(attribute="name") | list }} {{ users | selectattr("age", "eq", 30) | map(attribute="name") | join(",") }} {{ users | rejectattr("age", "equalto", 30) | map(attribute="name") | first }} {{ users | selectattr("x", "defined") | list | length }} {{ users | rejectattr("x") | list | length }} {{ users | selectattr("age", ">", 26) | list | count }} {{ users | selectattr("name", "in", ["Bo"]) | map(attribute="age") | sum }}
{{ l | sort }} {{ l | sort(reverse=true) }} {{ ["b", "A", "c"] | sort }} {{ ["b", "A", "c"] | sort(case_sensitive=true) }} {{ users | sort(attribute="age") | map(attribute="name") | list }} {{ users | sort(attribute="age,name") | map(attribute="name") | list }} {{ "bca" | sort }} {{ d | sort }} {{ [none, none] | sort }} {{ [(2, "a"), (1, "b")] | sort }} {{ users | sort(true, attribute="age") | map(attribute="name") | list }} {{ [3, 1.5, true] | sort }}
{{ [1, 2, 1, "a", "A"] | unique | list }} {{ ["a", "A"] | unique(true) | list }} {{ users | unique(attribute="age") | map(attribute="name") | list }} {{ "abca" | unique | join }} {{ [1, true, 1.0] | unique | list }}
{{ l | reverse | list }} {{ "abc" | reverse }} {{ d | reverse | list }} {{ range(3) | reverse | list }} {{ u | reverse }} {{ missing | reverse | list }}
{{ l | sum }} {{ users | sum(attribute="age") }} {{ [[1], [2]] | sum(start=[]) }} {{ [] | sum }} {{ [0.5, 1] | sum }} {{ [1, 2] | sum(start=10) }}
{{ l | min }} {{ l | max }} {{ ["b", "A"] | min }} {{ ["b", "A"] | max(case_sensitive=true) }} {{ users | max(attribute="age") | tojson }} {{ [] | min }}| {{ "hello" | max }} {{ [1.5, 2] | max }}
{{ range(7) | batch(3) | list }} {{ range(7) | batch(3, "x") | list }} {{ [] | batch(2) | list }} {{ range(7) | slice(3) | list }} {{ range(7) | slice(3, "x") | list }} {{ range(2) | slice(3) | list }}
{% for g in users | groupby("age") %}{{ g.grouper }}:{{ g.list | map(attribute="name") | join(",") }};{% endfor %}{% for k, v in users | groupby("age") %}{{ k }}{{ v | length }}{% endfor %}{{ [{"a": "X"}, {"a": "x"}, {}] | groupby("a", default="q") }} {{ ["b", "A", "a"] | groupby(0) if false }}
{{ "5" | int }} {{ "5.9" | int }} {{ "x" | int }} {{ "x" | int(7) }} {{ 5.9 | int }} {{ -5.9 | int }} {{ "0x1f" | int(base=16) }} {{ "101" | int(0, 2) }} {{ " 7 " | int }} {{ true | int }} {{ none | int }} {{ "1_000" | int }} {{ [] | int(3) }} {{ "0b11" | int(base=0) }} {{ "z" | int(base=36) }} {{ "-12" | int }} {{ "1e3" | int }}
{{ "5" | float }} {{ "1e3" | float }} {{ "x" | float }} {{ "x" | float(1.5) }} {{ 5 | float }} {{ " 2.5 " | float }} {{ "inf" | float }} {{ none | float }} {{ "1_0.5" | float }} {{ ".5" | float }} {{ "5." | float }} {{ "-0" | float }} {{ "1e400" | float }} {{ "1e-400" | float }}
{{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 5 | round }} {{ 1234 | round(-2) }} {{ 1250 | round(-2) }} {{ 2.1 | round(0, "ceil") }} {{ 2.9 | round(method="floor") }} {{ 2.123 | round(2, "ceil") }} {{ 1234.5 | round(-2) }} {{ -2.5 | round }} {{ 0.5 | round }} {{ 1e20 | round(2) }} {{ 5 | round(1, "floor") }}
{{ -5 | abs }} {{ -5.5 | abs }} {{ true | abs }} {{ (-3) | abs }} {{ 1.0 | string }} {{ none | string }} {{ [1] | string }} {{ 5 | string ~ "x" }} {{ true | string | lower }}
{{ html | e }} {{ html | escape }} {{ html | safe }} {{ html | e | e }} {{ html | forceescape }} {{ "a<"|safe + "b<" }} {{ "q<" + ("a<"|safe) }} {{ ("a<"|safe) ~ "<" }} {{ ["<", "a<"|safe] | join(">") }} {{ ("a<"|safe)|upper + "<" }} {{ ("a%s<"|safe) % "<" }} {{ ("a<"|safe)[0:2] + "<" }} {{ ["a"|safe] }} {{ ("<"|safe).join(["<", "b"]) }} {{ ("{}<"|safe).format("<") }} {{ ("a"|safe) * 2 + "<" }} {{ ("a,<"|safe).split(",") }} {{ ("a"|safe) is escaped }} {{ ("aX"|safe)|replace("X", "<") + "<" }} {{ ("a"|safe|string) + "<" }} {{ ("ab cd"|safe|truncate(3, true, "<", 0)) }}
{{ "abc" | list }} {{ d | list }} {{ (1, 2) | list }} {{ range(3) | list }} {{ "😀é" | list }} {{ missing | list }}
{{ "a b  c_d e-f" | wordcount }} {{ "hello world foo" | truncate(9) }} {{ "hello world foo" | truncate(11, true) }} {{ "hello" | truncate(5) }} {{ "hello world" | truncate(8, false, "…", 0) }} {{ "abc" | center(9) }}| {{ "%s-%s" | format("a", 1) }} {{ "%(x)s" | format(x=5) }} {{ "a b/c?d=é&" | urlencode }} {{ {"a b": 1, "c": "é/"} | urlencode }} {{ 1500 | filesizeformat }} {{ 1500 | filesizeformat(true) }} {{ 5 | filesizeformat }} {{ 1 | filesizeformat }} {{ 123456789 | filesizeformat }}
{{ d | attr("b") }}| {{ d | attr("get") is callable }} {{ l | attr("nope") is defined }}
{{ 1 is defined }} {{ missing is undefined }} {{ none is none }} {{ "a" is string }} {{ 1 is number }} {{ true is number }} {{ true is integer }} {{ 1 is integer }} {{ 1.0 is float }} {{ true is boolean }} {{ 1 is boolean }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ {} is mapping }} {{ [] is mapping }} {{ [] is iterable }} {{ 5 is iterable }} {{ "a" is iterable }} {{ none is iterable }} {{ missing is iterable }}
{{ [] is sequence }} {{ {} is sequence }} {{ "a" is sequence }} {{ () is sequence }} {{ 5 is sequence }} {{ range(2) is sequence }} {{ d.keys() is sequence }} {{ l | map("string") is sequence }} {{ l | map("string") is iterable }} {{ missing is sequence }} {{ d.items is callable }} {{ range is callable }} {{ s is callable }} {{ missing is callable }}
{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ "ab" is lower }} {{ "AB" is upper }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 1 is ge(1) }} {{ 2 is greaterthan 1 }} {{ 1 is in [1] }} {{ 1 is not in [1] }} {{ "upper" is filter }} {{ "zzz" is filter }} {{ "odd" is test }} {{ none is sameas none }} {{ 1 is sameas true }} {{ 1 is not none }} {{ not 1 is none }} {{ 1 is equalto 1 and 2 is gt 1 }}
{{ 1 is defined and 2 is string or 3 is number }} {{ missing is defined or n is defined }} {{ n is divisibleby 7 if true else 0 }} {{ [1, 2] is eq [1, 2] }} {{ s is string | string }} {{ -1 is number }} {{ - 1 | abs }} {{ (2 is even) | string | upper }}
{{ range(5) | list | tojson }} {{ dict(a=1, b=2) }} {{ dict([("x", 1)]) }} {{ dict({"a": 1}, b=2) }} {{ dict() }} {{ namespace({"a": 1}, b=2).b }}
{% set c = cycler("a", "b") %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set _ = c.reset() %}{{ c.current }} {% set j = joiner("|") %}{{ j() }}a{{ j() }}b{{ j() }}c {% set j = joiner() %}{{ j() }}{{ j() }}
{{ strftime_now("%Y-%m-%d %H:%M:%S %a %A %b %B %d %j %p %I %y %%") }} {{ strftime_now("%d %b %Y") }} {{ strftime_now("%-d %f|%Z|%z") }} {{ strftime_now("") }}|
{{ raise_exception("boom " ~ n) }}
{% if n %}{{ raise_exception("") }}{% endif %}
{{ users[0].name }} {{ users[0]["name"] }} {{ users[-1].tags[-1] }} {{ users.0.name }} {{ ll.1.0 }} {{ users[0].name[0] }} {{ users | length - 1 }} {{ users[users | length - 1].name }} {{ (users | first).name }} {{ d.a.x | first }}
{{ "x" in "xyz" and "y" not in ["x"] }} {{ "a" in {"a": 1}.keys() }} {{ 1 in {"a": 1}.values() }} {{ ("a", 1) in {"a": 1}.items() }} {{ 3 in range(5) }} {{ 4 in range(1, 9, 2) }} {{ "3" in range(5) }} {{ none in d }}
{{ missing == missing2 }} {{ missing != none }} {{ missing == "" }} {{ [missing] }} {{ [missing] | string }} {{ missing is none }} {{ missing | list }} {{ missing ~ "x" }} {{ not missing }} {{ "yes" if missing else "no" }}
{% print n, s %}{% print "a" ~ 1 %}
{{ "a\
b" }}{{ 'it''s' }}{{ "" "" }}
{% set f = "x".upper %}{{ f() }} {% set g = d.get %}{{ g("b") }} {{ (d.get)("b") }} {{ l.index(1) }} {{ [s.upper, s.lower][1]() }}
{% for x in l %}{% for y in l %}{% if loop.first %}{{ loop.index }}{% endif %}{% endfor %}{{ loop.index }}{% endfor %} {% for x in l %}{% set o = loop %}{% for y in [1] %}{{ o.index }}{% endfor %}{% endfor %}
{% for x in l %}{{ x }}{{ ", " if not loop.last }}{% endfor %} {% for x in l | sort %}{{ x }}{% if not loop.last %} and {% endif %}{% endfor %}
{% set x = namespace(items=[]) %}{% for i in l %}{% set x.items = x.items + [i * 2] %}{% endfor %}{{ x.items }} {{ x["items"] }}
{% set l2 = [] %}{% for i in range(3) %}{{ l2.append(i) or "" }}{% endfor %}{{ l2 }}
{%- set content = "<think>a</think>\nb" %}{{ content.split("</think>")[-1].lstrip("\n") }}|{{ content.split("</think>")[0].split("<think>")[-1] }}|{{ (content.split("</think>") | last).strip() }}
{% set a = [1, 2, 3] %}{{ a[1:] + a[:1] }} {{ a[-1:] }} {{ a[::-1][0] }} {{ a[a | length - 1] }} {{ a | length > 2 }} {{ a | length == 3 and a[0] == 1 }}
{%if n%}tight{%endif%}{{n}}{{-n-}}  x {%-if n-%} y {%-endif%}
{{ "a" + "b" | upper }} {{ ("a" + "b") | upper }} {{ 2 * 3 | string }} {{ -2 | string }} {{ "x" * 3 ~ "y" }} {{ "1" + 2 ~ 3 }} {{ 7 - 2 - 1 }} {{ 100 / 10 / 2 }} {{ 2 + 3 == 5 }} {{ 1 if 2 > 1 else 0 + 5 }}
{{ l | map("string") | map("upper") | join("/") | length }}
{{ "%d-%s" % (1, "a") | upper }}
{{ l | map | list }}
{{ (l | map("string") | list)[0] + "x" }} {% set it = l | map("string") %}{{ it | first }}{{ it | list }}{{ it | list }}
{{ loop }} {{ x.y if x is defined else "nox" }} {{ (x | default({})).y | default("noy") }}
{{ l|select('undefinedtest')|list if false else 1 }}{% if false %}{{ 1 | nofilter }}{{ 1 is notest }}{% endif %}
{{ "Ünïcödé_nämé" }}{% set ñ = 5 %}{{ ñ }}{% set x1_y = 1 %}{{ x1_y }}
{{ "%s" | format(none) }} {{ "%.1f" | format(2) }} {{ "{}%".format(5) }} {{ "%d%%" % 5 }} {{ "100%" }}
{{ d.a.x | map("string") | join(", ") }} {{ d.a | length }} {{ d.a.x.0 }} {{ d["a"]["x"][-1] }} {{ d.get("a", {}).get("x", [])[0] }} {{ d.get("zz", {}).get("x", "none") }}
{{ 5 // 0 }} {{ f % 0 }}
{{ 1 / 0 }}
{{ 5 % 0 }}
{{ missing.attr }}
{{ missing["x"] }}
{{ missing() }}
{{ missing + 1 }}
{{ "a" + missing }}
{{ missing < 1 }}
{{ -missing }}
{{ d.nope.x }}
{{ none.x.y }}
{{ "a" + 1 }}
{{ 1 + "a" }}
{{ [] + "a" }}
{{ "a" < 1 }}
{{ [1] < ["a"] }}
{{ none < none }}
{{ {} < {} }}
{{ 1 in 5 }}
{{ 1 in "a1" }}
{{ missing in "abc" }}
{{ [1, "a"] | sort }}
{{ none | length }}
{{ l | map("string") | length }}
{{ l | map("string") | last }}
{{ s.nope() }}
{{ d.nope() }}
{{ 5() }}
{{ z[1:] }}
{{ d[1:] }}
{{ missing[1:] }}
{{ l["a":] }}
{{ l[::0] }}
{% for x in 5 %}{% endfor %}
{% for x in none %}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% set a, b = 1 %}
{% set q = {} %}{% set q.x = 1 %}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(b=1) }}
{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}
{{ {[]: 1} }}
{{ {{}: 1} }}
{{ [] in {} }}
{{ [[1]] | unique | list }}
{{ "x".join([1]) }}
{{ "a".split("") }}
{{ "a".index("b") }}
{{ [].pop() }}
{{ {}.pop("a") }}
{{ [1].index(2) }}
{{ "%d" % "a" }}
{{ "%s %s" % ("a",) }}
{{ "%s" % ("a", "b") }}
{{ "%q" % 1 }}
{{ "{}".format() }}
{{ "{x}".format(1) }}
{{ "{:d}".format("a") }}
{{ missing | tojson }}
{{ range(3) | tojson }}
{{ {(1, 2): 3} | tojson }}
{{ missing | int }}
{{ "a" | abs }}
{{ "a" | round }}
{{ 5 | items }}{{ 5 | items | list }}
{{ 5 | dictsort }}
{{ ["a"] | sum }}
{{ "abc" | sum }}
{{ l | groupby }}
{{ range(1, 2, 0) }}
{{ range("a") }}
{{ 2 ** "a" }}
{{ 0 ** -1 }}
{{ loop.index }}
{{ l | map("nofilter") | list }}
{{ l | select("notest") | list }}
{{ l | nofilter }}
{{ l is notest }}
{% if true %}{{ 1 | nofilter }}{% endif %}
{% unknown %}
{% if %}x{% endif %}
{% if 1 %}x
{% if 1 %}x{% endfor %}
{% for x in l %}x{% endif %}
{% for in l %}{% endfor %}
{% for x l %}{% endfor %}
{% set %}
{% set 5 = 1 %}
{% set true = 1 %}
{% set x = %}
{% macro %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% endif %}
{% else %}
{% break %}
{{ 1 + }}
{{ (1 }}
{{ [1, 2 }}
{{ {"a" 1} }}
{{ 1 2 }}
{{ "abc }}
{{ a b }}
{{ }}
{{ x | }}
{{ x. }}
{{ x[ }}
{{ f(a=1, 2) }}
{{ f(a=1, a=2) }}
{{ 1 if }}
{{ not }}
{{ 1 is }}
{{ 1 is string is string }}
{{ @ }}
{{ $x }}
{{ a ! b }}
{{ "\x4" }}
{{ ) }}
{{ (] }}
{# unclosed
{% raw %}x
{{ x
{% if x
{{ 1 }} {% call x %}{% endcall %}
"""

# Templates of several lines, or with variables of their own: (source, variables added to VARS).
BLOCKS = [
    ("a\n{% if true %}\nb\n{% endif %}\nc\n", {}),
    ("a\n  {% if true %}  \n  b\n  {% endif %}\n  c\n\n", {}),
    ("{% for x in l %}\n  {{ x }}\n{% endfor %}\nend", {}),
    ("{% for x in l -%}\n  {{ x }}\n{%- endfor %}\nend", {}),
    ("  {%- if true %}\n x\n  {%- endif %}\n y", {}),
    ("a\n  {%+ if true %}\n b\n  {%+ endif +%}\n c", {}),
    ("x  {# c #}\n  {# whole line #}\ny\n{#- strip -#}\n z {#+ keep +#}\n!", {}),
    ("{{ 1 }}\n{{ 2 }}\n\n{{- 3 }}\n{{ 4 -}}\n\n{{ 5 }}\n", {}),
    ("a\r\nb\rc\n{{ 'x\r\ny' }}\r\n", {}),
    ("\n\n{{ n }}\n\n\n", {}),
    ("{% raw %}\n  {{ x }}\n{% endraw %}\nafter\n  {% raw %} {% if %} {% endraw %}\nz", {}),
    ("  {%- raw -%}\n  a {{ b }}\n  {%- endraw -%}\n c", {}),
    ("{% set x = [\n  1,\n  2,\n] %}\n{{ x\n   | join(\n  ',') }}", {}),
    ("{% macro m(a,\n  b='x') -%}\n  {{ a }}{{ b }}\n{%- endmacro %}\n[{{ m(1) }}]\n[{{ m(\n2, b = 3) }}]", {}),
    ("{% if a %}A{% elif b %}\n  B\n{% else %}\n  C\n{% endif %}\n", {"a": False, "b": True}),
    ("\t{% if 1 %}x{% endif %}\n\u00a0{% if 1 %}y{% endif %}\n\u3000 {%- if 1 %}z{% endif %}", {}),
    ("x {%- set y = 1 -%} \n\n z{{ y }}", {}),
    ("{{ 1 }} \n {%- if 1 %} \n {{- 2 }} \n {% endif -%} \n 3", {}),
    ("{% call(x) m() %}{% endcall %}", {}),
    ("{%- macro tree(n, depth=0) -%}\n{{ '  ' * depth }}{{ n.name }}\n{% for c in n.kids %}{{ tree(c, depth + 1) }}{% endfor %}\n"
     "{%- endmacro -%}\n{{ tree(root) }}", {"root": {"name": "a", "kids": [{"name": "b", "kids": []}, {"name": "c", "kids": [
         {"name": "d", "kids": []}]}]}}),
    ("{% for m in messages %}{% if m['role'] == 'user' and (loop.index0 % 2 == 0) != true %}{{ raise_exception('Roles must alternate') }}"
     "{% endif %}{{ m.role }}{% endfor %}", {"messages": [{"role": "assistant"}, {"role": "user"}]}),
    ("{%- for message in messages -%}\n  {%- if message.content is string -%}\n{{ message.content }}\n  {%- else -%}\n"
     "    {%- for part in message.content -%}\n      {%- if part.type == 'text' -%}{{ part.text }}{%- elif 'image' in part or part.type == 'image' -%}<image>"
     "{%- endif -%}\n    {%- endfor -%}\n  {%- endif -%}\n{%- endfor -%}",
     {"messages": [{"content": "plain"}, {"content": [{"type": "text", "text": " T "}, {"image": "x"}, {"type": "image"}]}]}),
    ("{{ a }}|{{ b }}|{{ c }}|{{ dd }}|{{ a + 1 }}|{{ b | tojson }}",
     {"a": 18446744073709551615, "b": -9223372036854775808, "c": 1.0e100, "dd": 1e-7}),
    ("{{ nested | tojson(indent=1) }}", {"nested": {"a": [1, {"b": [], "c": [[2]]}], "d": "x\ty"}}),
    ("{{ x.keys() | list }}{{ x | dictsort }}{{ x.z.y }}", {"x": {"z": {"y": [None, True, 1.5, "\u2028"]}, "a": 1}}),
    ("{{ '\\u00e9' }}{{ '\\n' }}{{ \"\\\\\" }}{{ '\\'' }}{{ '\\x41\\102' }}", {}),
    ("{{ ''' }}", {}),
    ("{{ 'a' }}{{ '}}' }}{{ \"%}\" }}{% set x = '{{' %}{{ x }}", {}),
    ("{{ {'a': {'b': 1}}}}", {}),
    ("{% if '}}' == \"}}\" %}{{ '{%' }}{% endif %}", {}),
    ("{ {a} } {% % } }} %} #} {", {}),
    ("{% set ns = namespace() %}{{ ns.a is defined }}{% set ns.a, ns.b = 1, 2 %}{{ ns.a }}{{ ns.b }}", {}),
    ("{% set x = 1 %}{% macro m() %}{% set x = 2 %}{{ x }}{% endmacro %}{{ m() }}{{ x }}", {}),
    ("{% set x = 1 %}{% set y %}{% set x = 2 %}{{ x }}{% endset %}{{ y }}{{ x }}", {}),
    ("{% set x = 1 %}{% filter upper %}{% set x = 'b' %}{{ x }}{% endfilter %}{{ x }}", {}),
    ("{% for x in l %}{% set y %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endset %}{{ y }}{% endfor %}", {}),
    ("{% for x in [1, 2] %}{% else %}{% endfor %}{% for x in [] %}a{% else %}{% for y in [1] %}{{ y }}{% break %}{% endfor %}{% endfor %}", {}),
    ("{% macro outer() %}{% macro inner() %}i{% endmacro %}{{ inner() }}o{% endmacro %}{{ outer() }}{{ inner is defined }}", {}),
    ("{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", {}),
    ("{% macro f(x, y=[]) %}{% set _ = y.append(x) %}{{ y }}{% endmacro %}{{ f(1) }}{{ f(2) }}", {}),
    ("{% macro list_users(users) %}{% for u in users %}{{ caller(u.name, u.age) }}{% endfor %}{% endmacro %}"
     "{% call(name, age=0) list_users(users) %}{{ name }}-{{ age }};{% endcall %}", {}),
    ("{% macro x() %}{{ caller('p') }}{% endmacro %}{% macro y() %}{% call(q) x() %}{{ q }}{% endcall %}{% endmacro %}{{ y() }}", {}),
    ("{% set i = 5 %}{% for i in range(2) %}{{ i }}{% endfor %}{{ i }}", {}),
    ("{% for i in range(3) %}{% if i == 1 %}{% set seen = true %}{% endif %}{{ seen is defined }}{% endfor %}", {}),
    ("{% set a = 'x' %}{% for i in [1] %}{{ a }}{% set a = 'y' %}{{ a }}{% for j in [1] %}{{ a }}{% set a = 'z' %}{{ a }}{% endfor %}{{ a }}{% endfor %}{{ a }}", {}),
    ("{{ text.splitlines() | map('trim') | select | join('\\n') }}", {"text": " a \n\n  b\n"}),
    ("{{ (m.content | trim) ~ '</s>' if m.role == 'a' and m.content else 'none' }}", {"m": {"role": "a", "content": " q "}}),
]


class Generation(jinja2.ext.Extension):
    """Hugging Face's {% generation %}: prints its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("show"), [], [], body).set_lineno(line)

    def show(self, caller):
        return caller()


def environment():
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])

    def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.TemplateError(message)

    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.fromisoformat(NOW).strftime(form)
    return env


def main():
    env = environment()
    print(json.dumps({"vars": VARS, "now": NOW}, ensure_ascii=True))
    lines = LINES.strip("\n").replace("\\\n", "\\\0").split("\n")
    cases = [(line.replace("\\\0", "\\\n"), {}) for line in lines] + BLOCKS
    for source, extra in cases:
        case = {"source": source}
        if extra:
            case["vars"] = extra
        try:
            case["text"] = env.from_string(source).render(**copy.deepcopy({**VARS, **extra}))
        except jinja2.TemplateError as error:
            case["error"] = True
            if type(error) is jinja2.TemplateError:
                case["raised"] = str(error)
        except Exception:  # TypeError, ValueError, ZeroDivisionError ...: errors of the language too
            case["error"] = True
        if "object at 0x" in case.get("text", ""):
            raise SystemExit("shows an address: " + source)
        print(json.dumps(case, ensure_ascii=True))


if __name__ == "__main__":
    main()
