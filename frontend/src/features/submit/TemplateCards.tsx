import { t } from '@lingui/core/macro';
import { Trans } from '@lingui/react/macro';
import { Button, Paper, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Template } from '@/api/types';
import { translate, translateExact } from '@/i18n/translate';
import { resourceTexts } from '@/lib/resourceLabels';
import { NameIcon } from '@/ui/NameIcon';
import classes from './SubmitPage.module.css';
import { findTemplates, groupByCategory, groupTemplates } from './templates';

/** With fewer templates than this, there is no search field. */
const MIN_FOR_SEARCH = 6;

const ALL = '';

interface Props {
  templates: Template[];
  /** the names of those used last */
  recent: readonly string[];
}

/** All templates by category: available ones first, the others with the reason. */
export function TemplateCards({ templates, recent }: Props) {
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<string>(ALL);
  const matches = findTemplates(templates, text);
  const categories = groupTemplates(templates, []);
  const shown =
    chosen === ALL
      ? groupTemplates(matches, text.trim() === '' ? recent : [])
      : groupByCategory(matches).filter(
          (group) => group.name === chosen && group.templates.length > 0,
        );
  return (
    <>
      {templates.length >= MIN_FOR_SEARCH && (
        <TextInput
          className={classes.find}
          type="search"
          aria-label={t`Find a template`}
          placeholder={t`Find: PyTorch, array, notebook…`}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
      <fieldset className={classes.categories} aria-label={t`Category`}>
        {[{ name: ALL, title: t({ message: 'All', context: 'templates' }) }, ...categories].map(
          ({ name, title }) => (
            <Button
              key={name}
              size="compact-sm"
              variant={name === chosen ? 'filled' : 'default'}
              aria-pressed={name === chosen}
              onClick={() => setChosen(name)}
            >
              {title}
            </Button>
          ),
        )}
      </fieldset>
      {shown.map(({ name, title, templates: items }) => (
        <section key={name} aria-label={title}>
          <h2 className={classes.category}>{title}</h2>
          <ul className={classes.templates} aria-label={t`Templates: ${title}`}>
            {items.map((template) => (
              <li key={template.name}>
                <TemplateCard template={template} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {shown.length === 0 && (
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
      <h3 className={classes.title}>
        <NameIcon name={template.framework ?? template.environment ?? name} />
        {available ? (
          <Link to="/jobs/new" search={{ template: name }} className={classes.cardLink}>
            {title}
          </Link>
        ) : (
          title
        )}
      </h3>
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
