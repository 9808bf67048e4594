"""The front door: one thin module a command. It parses, calls the gate, and hands out what reports return."""
