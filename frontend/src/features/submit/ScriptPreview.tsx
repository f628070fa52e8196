import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '@/api/problem';
import type { SomeResources } from '@/api/types';
import { ScriptText } from '@/features/jobs/ScriptText';
import { Fold } from '@/ui/Fold';
import { renderQuery } from './queries';
import classes from './SubmitPage.module.css';

const TYPED_MS = 400;

interface Props {
  template: string;
  parameters: Record<string, unknown>;
  /** only for a template that leaves the choice */
  environment: string | undefined;
  resources: SomeResources;
  possible: boolean;
}

/** The script as Slurm would be given it. */
export function ScriptPreview({ template, parameters, environment, resources, possible }: Props) {
  const [open, setOpen] = useState(false);
  const [asked] = useDebouncedValue(
    JSON.stringify({ parameters, environment, resources }),
    TYPED_MS,
  );
  const wanted = JSON.parse(asked) as Pick<Props, 'parameters' | 'environment' | 'resources'>;
  const { data, error } = useQuery({
    ...renderQuery(template, wanted),
    enabled: open && possible,
  });
  return (
    <Fold summary={t`The exact script`} open={open} onTurn={setOpen}>
      {!possible && (
        <p className={classes.quiet}>
          <Trans>Shown once all fields are valid.</Trans>
        </p>
      )}
      {possible && error && <p className={classes.why}>{sentence(error)}</p>}
      {possible && !error && data === undefined && (
        <p className={classes.quiet}>
          <Trans>Generating it…</Trans>
        </p>
      )}
      {possible && !error && data && <ScriptText text={data.script} />}
    </Fold>
  );
}
