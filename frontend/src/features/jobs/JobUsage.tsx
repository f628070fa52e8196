import { Trans } from '@lingui/react/macro';
import type { JobDetail } from '@/api/types';
import { UsedBar } from '@/ui/UsedBar';
import { JobCharts } from './JobCharts';
import pageClasses from './JobPage.module.css';
import classes from './JobUsage.module.css';
import { shareText, suggestionTexts, type UsageRow, unknownText, usageRows } from './usageRows';

/** The usage of the requested resources: totals, and charts over time. */
export function JobUsage({ job }: { job: JobDetail }) {
  const rows = usageRows(job);
  const suggestion = suggestionTexts(job);
  // For jobs submitted through the portal, the charts show GPU use as measured on the nodes;
  // accounting has none, so only external jobs get that note.
  const unknown = job.usage === null || job.external ? unknownText(job) : null;
  if (rows.length === 0 && unknown === null && job.started_at === null) return null;
  return (
    <section aria-labelledby="used">
      <h2 id="used" className={pageClasses.heading}>
        <Trans>Resource usage</Trans>
      </h2>
      {rows.length > 0 && (
        <ul className={classes.rows}>
          {rows.map((row) => (
            <Row key={row.label} row={row} />
          ))}
        </ul>
      )}
      {suggestion.map((text) => (
        <p key={text} className={classes.suggestion}>
          {text}
        </p>
      ))}
      {unknown && <p className={classes.note}>{unknown}</p>}
      {job.started_at !== null && <JobCharts job={job} />}
    </section>
  );
}

function Row({ row: { label, text, share } }: { row: UsageRow }) {
  return (
    <li className={classes.row}>
      <span className={classes.label}>{label}</span>
      <span className={classes.bar}>
        {share !== null && <UsedBar used={share} total={1} level="fine" />}
      </span>
      <span className={classes.text}>
        {text}
        {share !== null && <span className={classes.share}> {shareText(share)}</span>}
      </span>
    </li>
  );
}
