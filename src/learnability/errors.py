"""The one exception that means 'the user can mend this': shown as one line, without a traceback."""


class UserError(Exception):
    """A mistake in the input (config, file, command line); its text names what and where."""
