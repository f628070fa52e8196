import { Trans } from '@lingui/react/macro';
import type { ScriptImport } from '@/api/types';
import { translate } from '@/i18n/translate';
import { Notice } from '@/ui/Notice';
import classes from './SubmitPage.module.css';

type Option = ScriptImport['options'][number];

/** The #SBATCH options of an imported script: those that became fields, and those left out. */
export function ImportReport({ options }: { options: readonly Option[] }) {
  if (options.length === 0) return null;
  const withOutcome = (outcome: Option['outcome']): Option[] =>
    options.filter((option) => option.outcome === outcome);
  const [fields, passed, leftOut] = [
    withOutcome('field'),
    withOutcome('passed'),
    withOutcome('left_out'),
  ];
  return (
    <Notice tone={leftOut.length > 0 ? 'warning' : 'info'} urgent>
      <div className={classes.report}>
        {fields.length > 0 && (
          <>
            <p>
              <Trans>The fields below have the values of these #SBATCH options:</Trans>
            </p>
            <Options options={fields} />
          </>
        )}
        {passed.length > 0 && (
          <>
            <p>
              <Trans>These stay in the script and are passed on to Slurm:</Trans>
            </p>
            <Options options={passed} />
          </>
        )}
        {leftOut.length > 0 && (
          <>
            <p>
              <b>
                <Trans>These have no effect here:</Trans>
              </b>
            </p>
            <Options options={leftOut} />
          </>
        )}
      </div>
    </Notice>
  );
}

/** Options in the order of the script, with their notes. */
function Options({ options }: { options: readonly Option[] }) {
  return (
    <ul>
      {options.map(({ line, text, note }) => (
        <li key={`${line} ${text}`}>
          <Trans>
            Line {line}: <code>{text}</code>
          </Trans>
          {note !== null && ` – ${translate(note)}`}
        </li>
      ))}
    </ul>
  );
}
