"""A survey of thousands of runs: which of them need attention first.

    survey(["runs/"], store=path, processes=2) -> [SurveyRow], sorted

Each run is read and diagnosed like a single run. One row of each run is kept in a file, so a survey can be continued.
"""

from firstbreak.compare.survey import table
from firstbreak.compare.survey.runs import SurveyRow, find, survey

__all__ = ["SurveyRow", "find", "survey", "table"]
