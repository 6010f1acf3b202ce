"""Web page: judge answers, compare two answers, browse the answers of a run, label the audit sheet. All texts are escaped."""
