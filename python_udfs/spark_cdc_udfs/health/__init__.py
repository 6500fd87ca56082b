"""`spark-cdc health`: a page, or a few lines, that say which tables need a look.

- `command` is the command line;
- `relation` finds the table that a health model builds, and `rows` reads it: `Table`, `Run`;
- `facts` names the counts of a table and says what each means;
- `severity` decides how bad a table is, and `texts` writes numbers, durations and times;
- `view` has all that the page shows, and `page` makes the file of it, from `page.html`, `page.css`
  and `page.js`; `summary` has the lines for a terminal.
"""
