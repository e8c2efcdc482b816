"""`loadaware doctor`: checks each thing that a new install gets wrong, and says how to mend it.

The bargain: every check is a small generator of findings; one that fails never stops the others, and one that cannot
run because of an earlier failure says so in words. Everything is bounded in time. No finding holds a secret, and no
verdict is given on what cannot be seen from here.
"""

from loadaware.doctor.examination import examine
from loadaware.doctor.finding import Finding, print_findings
from loadaware.server_files import ServerFiles

__all__ = ["Finding", "ServerFiles", "examine", "print_findings"]
