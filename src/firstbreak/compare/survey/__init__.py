"""A survey of thousands of runs: which of them need attention first.

    survey(["runs/"], store=path, processes=2) -> [SurveyRow], sorted

Each run is read and diagnosed like a single run. One row of each run is kept in a file, so a survey can be continued.
"""

from firstbreak.compare.survey import table
from firstbreak.compare.survey.runs import UNREADABLE, SurveyRow, find, row_of, survey

__all__ = ["UNREADABLE", "SurveyRow", "find", "row_of", "survey", "table"]
