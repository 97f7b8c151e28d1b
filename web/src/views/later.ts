// The styles of what the first chapter has none of: they come with the second.
import './charts.css';
import './comparison.css';
import './group-tables.css';
import './memory.css';
import './more.css';
import './plane.css';
import './products.css';
import './scorecard.css';
import './steps.css';
import './work.css';
