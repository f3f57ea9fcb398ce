import { mount } from 'svelte';
import 'uplot/dist/uPlot.min.css';
import './app.css';
import App from './App.svelte';
import { remember } from './share/files';
import { startTheme } from './state/theme.svelte';

remember();
startTheme();
mount(App, { target: document.getElementById('app')! });
