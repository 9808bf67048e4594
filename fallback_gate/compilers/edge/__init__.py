"""Room 3: the runtimes of phones, cameras and boards, one reader each.

Each hands a model to a delegate or a vendor's processor, and runs the rest on the CPU.
"""
