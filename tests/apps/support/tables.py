"""CSV files: of data, and those that a run writes."""
import csv


def write_table(path, columns, rows):
    """The names of the columns, then a line for each row, of texts or numbers."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in rows)


def rows_of(path):
    """Each row by its columns' names, as texts."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def column_of(path, name):
    """As numbers."""
    return [float(row[name]) for row in rows_of(path)]
