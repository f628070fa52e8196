import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Paper, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Template } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import classes from './SubmitPage.module.css';
import { findTemplates } from './templates';

/** With fewer than this there is nothing to look for. */
const MANY = 6;

/** All templates: those that can be used first, the others with what they lack. */
export function TemplateCards({ templates }: { templates: Template[] }) {
  const [text, setText] = useState('');
  const found = findTemplates(templates, text);
  return (
    <>
      {templates.length >= MANY && (
        <TextInput
          className={classes.find}
          type="search"
          aria-label={t`Find a template`}
          placeholder={t`Find: PyTorch, array, notebook…`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <ul className={classes.templates} aria-label={t`Templates`}>
        {found.map((template) => (
          <li key={template.name}>
            <TemplateCard template={template} />
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p className={classes.quiet}>
          <Trans>No matching templates.</Trans>
        </p>
      )}
    </>
  );
}

function TemplateCard({ template }: { template: Template }) {
  const { name, available } = template;
  const title = translateExact(template.title);
  return (
    <Paper className={classes.template} data-available={available}>
      <h2 className={classes.title}>
        {available ? (
          <Link to="/jobs/new" search={{ template: name }} className={classes.whole}>
            {title}
          </Link>
        ) : (
          title
        )}
      </h2>
      <p>{translateExact(template.description)}</p>
      {available ? (
        <p className={classes.quiet}>{resourceTexts(template.default_resources).join(' · ')}</p>
      ) : (
        <p className={classes.why}>
          {translate(template.unavailable_reason) ?? t`Not available on this cluster.`}
        </p>
      )}
    </Paper>
  );
}
