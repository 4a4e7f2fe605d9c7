"""Methods of others, written from their papers, to compare with in studies.

They are not part of the package: a plan in this folder names them by import path, such as
``{ name = "ntc-tmi", class = "rivals.NTCtMI" }``. Each file says where its method comes from and what was left out.
``benchmarks/rival_figures.py`` sets each of them against a published figure.
"""

from rivals.dedpul import DEDPUL as DEDPUL
from rivals.detm import DETM as DETM
from rivals.elkan_noto import ElkanNoto as ElkanNoto
from rivals.nnpu import NNPU as NNPU
from rivals.ntc_tmi import NTCtMI as NTCtMI
from rivals.pulsnar import PULSNAR as PULSNAR
from rivals.pusb import PUSB as PUSB

__all__ = ["DEDPUL", "DETM", "NNPU", "PULSNAR", "PUSB", "ElkanNoto", "NTCtMI"]
