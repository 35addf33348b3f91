// web/src/python_tokens.js: colours for Python source: comments, strings, keywords, numbers. Pure; it need not be a parser.

const kKeywords = new Set(
    "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False self match case".split(
        " ",
    ),
);
const kToken =
    /(#[^\n]*)|([rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|([A-Za-z_]\w*)|(\d[\w.]*)/g;

// For each line a list of {text, kind}: comment, string, keyword, number, or none.
export function tokens(source) {
    const lines = [[]];
    const push = (text, kind) => {
        text.split("\n").forEach((part, i) => {
            if (i) lines.push([]);
            if (part) lines[lines.length - 1].push({ text: part, kind });
        });
    };
    let at = 0;
    for (const match of source.matchAll(kToken)) {
        const kind =
            match[1] !== undefined
                ? "comment"
                : match[2] !== undefined
                  ? "string"
                  : match[4] !== undefined
                    ? "number"
                    : kKeywords.has(match[3])
                      ? "keyword"
                      : undefined;
        if (!kind) continue;
        if (match.index > at) push(source.slice(at, match.index));
        push(match[0], kind);
        at = match.index + match[0].length;
    }
    push(source.slice(at));
    return lines;
}
