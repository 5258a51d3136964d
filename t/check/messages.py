"""messages - check the form of the texts of errors in C and Python sources.

usage: messages.py DIRECTORY...

In C these are the formats of error_set(), error_prefix() and the other functions with a
printf attribute; in Python the texts of exceptions. Prints FILE:LINE: what is wrong, and the
text. The last line has the number of texts. Exit status 1: something is wrong.

The form: the text follows the name of the program and a colon, and another sentence or
"; what to do next" may follow the text. So it begins with a small letter, or the name of a
thing, and ends without a full stop. It names what it is about, and gives the cause or what to
do.
"""
import ast
import os
import re
import sys

# Names that begin with a capital, besides those with two of them (PMIx, RAYTRAIN_RUN_DIR).
NAMES = {"Slurm", "Checkpoint", "Predictor", "Shard", "Trainer"}

BANNED = re.compile(
    r"\b(nobody|somebody|someone|anyone|whoever|tells?|told|hears?|heard|please|sorry|oops"
    r"|failed to|unable to|unfortunately|simply|just|obviously|bogus|illegal|fatal"
    r"|can't|don't|doesn't|isn't|won't|couldn't|didn't|the the)\b"
    r"|!( |$)", re.IGNORECASE)

# Codes of what a user has given, and of what has happened to a run.
OF_INPUT = {"EINVAL", "ETYPE", "ENOTFOUND", "ENOTSUP", "EFIT"}
OF_EVENTS = {"ECOMM", "ESTORAGE", "ECORRUPT", "EFAILED"}

# What names something: a conversion, a quotation, NULL, an option, a key or a function, a
# variable of the environment.
NAMING = re.compile(r"%|['\"`]|NULL|--[a-z]|[a-z]+_[a-z]+|[A-Z]{3,}")
# What separates a cause, or the next step, from what failed.
SEPARATOR = re.compile(r"[:;?(\n,]| is ")
WORDS_ENOUGH = 4 # of a text without these: it says all by itself
# Another text, passed on.
PASSED_ON = re.compile(r"(it )?(%[.*0-9]*s[ :]*)+")


def wrong_anywhere(text):
    """What is wrong with a text, wherever it is from."""
    first = re.match(r"[^\s:,;]*", text).group()
    if not text.strip():
        yield "it is empty"
        return
    if text != text.rstrip() or text.endswith("\\n"):
        yield "it ends with a space or a newline"
    if text.endswith(".") and not text.endswith("..."):
        yield "it ends with a full stop"
    if first[:1].isupper() and not (
            first.rstrip("'s") in NAMES or re.search(r"[A-Z_].*[A-Z_]", first)):
        yield "it begins with a capital"
    if BANNED.search(text):
        yield f"it has the word '{BANNED.search(text).group()}'"
    if re.search(r"[^\n ]  ", text) or "\t" in text:
        yield "it has two spaces or a tab"
    if not text.isascii():
        yield "it is not ASCII"


def wrong_for(code, text):
    """What is missing in a text with this code."""
    if PASSED_ON.fullmatch(text):
        return
    if code == "EUSAGE" and not re.search(r"[:;?(\n]", text):
        yield "it does not say what to type"
    if code in OF_INPUT | OF_EVENTS and not (
            NAMING.search(text) or len(text.split()) >= WORDS_ENOUGH):
        yield "it names nothing"
    if code in OF_INPUT | OF_EVENTS and not (
            SEPARATOR.search(text) or len(text.split()) >= WORDS_ENOUGH):
        yield "it gives no cause"
    if code == "ENOMEM" and not re.search(r"memory|%s", text):
        yield "it does not mention memory"


# ---- C ------------------------------------------------------------------------------

STRING = r'"(?:\\.|[^"\\\n])*"'
LITERAL = re.compile(STRING + r"|'(?:\\.|[^'\\\n])*'|/\*.*?\*/|//[^\n]*", re.DOTALL)
PRINTS = re.compile(r"\b(\w+)\(([^;{}]*?)\)\s*__attribute__\(\(format\(printf, (\d+),")
PRINTS_AFTER = re.compile(r"__attribute__\(\(format\(printf, (\d+), \d+\)\)\)\s*(\w+)\(")
# Functions whose text is a part of a message of another form.
OTHERS = {"snprintf", "fprintf", "printf", "argv_appendf", "append", "reply_set",
          "outlet_print", "life_say", "program_say"}


def without_comments(source):
    def blank(match):
        text = match.group()
        return text if text[0] in "\"'" else re.sub(r"[^\n]", " ", text)
    return LITERAL.sub(blank, source)


def without_macros(source):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", source, flags=re.MULTILINE)


def arguments(source, at):
    """The arguments of a call whose opening parenthesis is before source[at]."""
    found, start, depth = [], at, 1
    while depth:
        literal = LITERAL.match(source, at)
        if literal:
            at = literal.end()
            continue
        if source[at] in "([{":
            depth += 1
        elif source[at] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and source[at] == ","):
            found.append(source[start:at].strip())
            start = at + 1
        at += 1
    return found


def texts_of(argument):
    """The formats of an argument: one, or those of a conditional expression. What is no
    literal, such as PRIu64 or another macro, becomes %s."""
    for branch in re.split(r"(?<!\w)[?:](?!\w)", LITERAL.sub(
            lambda m: '"' + m.group()[1:-1].encode().hex() + '"', argument)):
        if '"' not in branch:
            continue
        pieces = re.findall(r'"[0-9a-f]*"|\w+', branch)
        text = "".join(bytes.fromhex(p[1:-1]).decode() if p[0] == '"' else "%s"
                       for p in pieces)
        yield re.sub(r'\\(.)', lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]),
                     re.sub(r"%%s(?=\w)", "%", text))


def in_c(sources):
    """FILE:LINE, code or "", text of every message of the sources, a dict."""
    position = {}
    for source in map(without_macros, sources.values()):
        for name, _, number in PRINTS.findall(source):
            position[name] = int(number) - 1
        for number, name in PRINTS_AFTER.findall(source):
            position[name] = int(number) - 1
    for name in OTHERS:
        position.pop(name, None)
    if "fs_error" in "".join(sources.values()):
        position["fs_error"] = 1 # what cannot be done
    call = re.compile(r"\b(" + "|".join(position) + r")\((?!const|struct|void)")
    for path, source in sources.items():
        for match in call.finditer(source) if position else ():
            given = arguments(source, match.end())
            if len(given) <= position[match[1]]:
                continue
            code = re.search(r"RAYTRAIN_(E[A-Z]+)", ",".join(given[:position[match[1]]]))
            prefix = match[1] == "error_prefix"
            where = f"{path}:{source.count(chr(10), 0, match.start()) + 1}"
            for text in texts_of(given[position[match[1]]]):
                yield where, "" if prefix or not code else code[1], text


# ---- Python -------------------------------------------------------------------------

# Besides classes of exceptions: what gets a text for the user.
GETS_TEXT = re.compile(r"(.*\b)?([A-Z]\w*(Error|Warning)|_?warn|exit)$")
OF_ERRORS = re.compile(r"(\w+\.)*errors\.[A-Z]\w*$")


def name_of(node):
    """a.b.c of such an expression."""
    if isinstance(node, ast.Attribute):
        return name_of(node.value) + "." + node.attr
    return node.id if isinstance(node, ast.Name) else ""


def format_of(node):
    """X of X.format(...)."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and \
            node.func.attr == "format":
        return node.func.value
    return None


def constants(node, known):
    """The texts of an expression, with %s for each value; none: it has no text. known: the
    texts of variables."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return ["".join(p.value if isinstance(p, ast.Constant) else "%s" for p in node.values)]
    if isinstance(node, ast.IfExp):
        return constants(node.body, known) + constants(node.orelse, known)
    if isinstance(node, ast.Name):
        return known.get(node.id, [])
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return constants(node.left, known)
    if isinstance(node, ast.BinOp):
        return [a + b for a in constants(node.left, known)
                for b in constants(node.right, known) or ["%s"]]
    if format_of(node) is not None:
        return [re.sub(r"\{[^{}]*\}", "%s", t) for t in constants(format_of(node), known)]
    return []


def variables_of(function):
    """The texts that are assigned to the variables of a function."""
    known = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            texts = constants(node.value, {})
            known.setdefault(node.targets[0].id, []).extend(texts)
    return known


def messages_of(tree):
    """The nodes whose first argument is a text for the user, each with the texts of variables."""
    classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
    inner = {}
    for function in ast.walk(tree): # of nested functions, the inner one comes last
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            for node in ast.walk(function):
                inner[node] = function
    raised = {n.exc for n in ast.walk(tree) if isinstance(n, ast.Raise)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = name_of(node.func)
        if GETS_TEXT.match(name) or OF_ERRORS.match(name) or \
                (node in raised and name not in classes):
            yield node, variables_of(inner[node]) if node in inner else {}


def in_python(sources):
    for path, source in sources.items():
        for node, known in messages_of(ast.parse(source)):
            for text in constants(node.args[0], known):
                yield f"{path}:{node.lineno}", "", text


def sources_of(directories, ending):
    found = {}
    for directory in directories:
        for where, _, names in os.walk(directory):
            for name in sorted(names):
                if name.endswith(ending):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as file:
                        found[path] = file.read()
    return dict(sorted(found.items()))


def main(directories):
    c = {p: without_comments(s) for p, s in sources_of(directories, (".c", ".h")).items()}
    texts = [*in_c(c), *in_python(sources_of(directories, ".py"))]
    wrong = 0
    for where, code, text in texts:
        for what in [*wrong_anywhere(text), *wrong_for(code, text)]:
            wrong += 1
            print(f"{where}: {what}: {text!r}")
    print(f"{len(texts)} texts, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
