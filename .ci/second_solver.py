"""cvc5 from its Python package, as a program that reads SMT-LIB and answers.

Each `(reset)` begins a question; `(echo "..")` ends it. An answer is one line.
"""

import sys

import cvc5


def answer(text):
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", "4000")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "question")
    symbols, said = parser.getSymbolManager(), "unknown"
    while True:
        command = parser.nextCommand()
        if command.isNull():
            return said
        result = command.invoke(solver, symbols).strip()
        if result in ("sat", "unsat", "unknown"):
            said = result
        elif "error" in result:
            return "unknown"


def main():
    lines = []
    for line in sys.stdin:
        if line.startswith("(reset)"):
            lines = []
        elif line.startswith("(echo"):
            try:
                print(answer("".join(lines)), flush=True)
            except RuntimeError:
                print("unknown", flush=True)
            print(line.split('"')[1], flush=True)
        else:
            lines.append(line)


main()
