import { t } from '@lingui/core/macro';
import { Suspense } from 'react';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { ResourceFields } from '@/features/start/ResourceFields';
import type { ResourceErrors } from '@/features/start/requestedResources';
import type { Purpose } from '@/features/start/resolveResources';
import classes from '@/features/start/StartPage.module.css';
import { lazyPart } from '@/ui/lazyPart';
import type { JobResourceFormValues } from './request';

const ChoiceWaits = lazyPart(
  async () => (await import('@/features/start/ChoiceWaits')).ChoiceWaits,
);

interface Props {
  cluster: Cluster;
  purpose: Purpose;
  values: JobResourceFormValues;
  fieldErrors: ResourceErrors;
  onChange: (values: JobResourceFormValues) => void;
}

export function JobResources({ cluster, purpose, values, fieldErrors, onChange }: Props) {
  return (
    <fieldset className={classes.group}>
      <legend>
        <Term word="Resources">{t`Resources`}</Term>
      </legend>
      <ResourceFields
        cluster={cluster}
        values={values.node}
        fieldErrors={fieldErrors}
        onChange={(node) => onChange({ ...values, node })}
        nodes={{
          value: values.nodes,
          onChange: (nodes) => onChange({ ...values, nodes }),
        }}
      />
      {(values.nodes ?? 1) === 1 && (
        <Suspense>
          <ChoiceWaits cluster={cluster} values={values.node} purpose={purpose} withTypes />
        </Suspense>
      )}
    </fieldset>
  );
}
