"""Room 3: closing records: `records` is their form, the others say what each compiler tells in them."""
