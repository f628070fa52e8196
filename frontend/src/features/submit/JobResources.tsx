import { t } from '@lingui/core/macro';
import { Suspense } from 'react';
import type { Cluster } from '@/api/types';
import { Term } from '@/features/glossary/Term';
import { ResourceFields } from '@/features/resources/ResourceFields';
import type { ResourceErrors } from '@/features/resources/requestedResources';
import type { Purpose } from '@/features/resources/resolveResources';
import formClasses from '@/ui/FormPage.module.css';
import { lazyPart } from '@/ui/lazyPart';
import type { JobResourceFormValues } from './request';

const ChoiceWaits = lazyPart(
  async () => (await import('@/features/resources/ChoiceWaits')).ChoiceWaits,
);

interface Props {
  cluster: Cluster;
  purpose: Purpose;
  values: JobResourceFormValues;
  fieldErrors: ResourceErrors;
  onChange: (values: JobResourceFormValues) => void;
}

/** The resources of a job, with the expected waits for other choices. */
export function JobResources({ cluster, purpose, values, fieldErrors, onChange }: Props) {
  return (
    <fieldset className={formClasses.group}>
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
