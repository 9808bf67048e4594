"""Room 3: closing records: `records` is their form, the others say what each compiler tells in them."""

MARK = "fallback_gate_closing"
LINE = f'{{"{MARK}": '  # what a line that is one starts with
